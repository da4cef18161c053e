// The file NAME-history is a header and entries: first the steps that existed when the file was begun, then the
// events of each later commit. Bytes read are input (I7). Each entry has a checksum, which is seeded with the checksum
// of the entry before it; the checksum of the first entry is seeded with the header's checksum.
//
// H5: README.md.
#pragma once

#include "base/result.hpp"
#include "format/history_event.hpp"
#include "os/file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace remanence::history {

using heap_uuid = std::array<std::uint8_t, 16>;

/// A commit, by its version and the checksum of its record.
struct commit_name {
    std::uint64_t version;
    std::uint64_t chain;
    friend bool operator==(const commit_name&, const commit_name&) = default;
};

/// Where an entry ends in the file, with the entry's commit and its checksum, which seeds that of the next entry.
struct entry_end {
    commit_name commit{};
    std::uint64_t offset = 0;
    std::uint64_t checksum = 0;
};

enum class reading { goes_on, is_done };
/// Calls `f` with each sound entry, in order, until `f` returns is_done, the file ends, or an entry is not sound.
/// Returns false if this is not a history file of the heap. errc::io; throws std::bad_alloc.
using entry_visitor = std::function<reading(const entry_end&, std::span<const std::byte> events)>;
result<bool> for_each_entry(os::file& file, const heap_uuid& heap, const entry_visitor& f);
/// As for_each_entry(), but only for the entries after `from`, which is the end of a sound entry.
result<void> for_each_entry_behind(os::file& file, const entry_end& from, const entry_visitor& f);

/// The entries at the end of a history file.
struct last_entries {
    struct entry {
        commit_name commit;
        std::span<const std::byte> events; // in `bytes`
    };
    std::vector<std::byte> bytes;
    std::vector<entry> all; // oldest first; each is sound and follows the one before it
};
/// Reads this many bytes at the end of the file, and finds the last entry there for which `is_known` returns true, with
/// those before it. Finds nothing if this is not a history file of the heap. errc::io; throws std::bad_alloc.
/// O(bytes).
result<last_entries> read_last_entries(os::file& file, const heap_uuid& heap, std::uint64_t bytes,
                                       const std::function<bool(const commit_name&)>& is_known);

// For writers.

/// Returns the header of a heap's history file.
format::history_header header_of(const heap_uuid& heap);
/// Returns the size of an entry in the file.
std::uint64_t entry_bytes(std::uint64_t bytes_of_events);
/// Appends an entry, and moves `end` past it.
void append_entry(std::vector<std::byte>& into, const commit_name& commit, std::span<const std::byte> events,
                  entry_end& end);

} // namespace remanence::history
