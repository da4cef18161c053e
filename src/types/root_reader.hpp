// Reads the root directory from an open heap or from a file.
//
// The directory is input (I7): every offset is checked before it is followed.
#pragma once

#include "base/result.hpp"
#include "format/root_directory.hpp"
#include "types/heap_bytes.hpp"
#include "types/type_description.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::types {

/// One root as the directory describes it. Texts lie in the heap.
struct root_entry_view {
    std::string_view name;
    std::string_view type;
    std::uint64_t object; // heap offset
    std::uint64_t bytes;
    std::uint64_t fingerprint_hash;
    std::uint32_t fingerprint_algorithm;
    bool position_independent;    // as stated by the program that made the root
    std::string_view description; // type_description, encoded; not checked yet. Empty if there is none
    std::uint32_t alignment;
};

class root_reader {
public:
    /// `path`: the heap's path, for messages. Both must outlive the reader.
    root_reader(types::heap_bytes& heap, const std::string& path) : heap_(heap), path_(path) {}

    /// Returns the directory that format::heap_header::root_word leads to; null if the word is 0, because no root was
    /// ever made. Error: errc::corrupt.
    result<format::root_directory*> directory(std::uint64_t root_word) const;
    /// Returns the entry at this index, in the order of names. Its object lies in the heap. Error: errc::corrupt; the
    /// message gives the heap offset, or names the root if a C program freed its block, and the heap ends before it now.
    result<root_entry_view> entry(const format::root_directory& d, std::uint64_t index) const;
    /// As entry(), but the object may lie behind the end of the heap.
    result<root_entry_view> any_entry(const format::root_directory& d, std::uint64_t index) const;
    /// Fails unless the entry's object lies in the heap.
    result<void> check_object(const root_entry_view& entry) const;
    /// Returns the decoded description of an entry; nothing if it has none. Error: errc::corrupt.
    result<std::optional<type_description>> description(const root_entry_view& entry) const;

private:
    [[nodiscard]] unexpected damaged(std::uint64_t offset) const;
    result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) const;

    types::heap_bytes& heap_;
    const std::string& path_;
};

} // namespace remanence::types
