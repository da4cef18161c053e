// The table of a heap's classes with virtual functions. It is input, and checked here (I7).
#pragma once

#include "base/result.hpp"
#include "format/class_table.hpp"
#include "types/vtable_index.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace remanence::types {

/// An entry of the table.
struct stored_class {
    std::string name; // mangled
    std::uint32_t position = 0;
    std::uint64_t object_bytes = 0; // 0: not known
    std::vector<virtual_base> virtual_bases{};
    bool operator==(const stored_class&) const = default;
};

/// Returns the entries of a table that begins at `heap[offset]`, from the one with this number on; nothing if the table
/// is damaged. `heap`: the heap's memory. Throws std::bad_alloc.
std::optional<std::vector<stored_class>> read_classes(std::span<const std::byte> heap, std::uint64_t offset,
                                                      std::size_t from = 0);

/// Returns how many bytes an entry takes.
[[nodiscard]] std::uint64_t bytes_of_entry(const stored_class& of);
/// Adds an entry. Returns false, and does nothing, if the table has no room for it. Precondition: the table is sound.
[[nodiscard]] bool append_class(format::class_table& table, const stored_class& added);

} // namespace remanence::types
