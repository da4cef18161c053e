// The table of a heap's classes with virtual functions. It is input, and checked here (I7).
#pragma once

#include "base/result.hpp"
#include "format/class_table.hpp"
#include "txn/heap_memory.hpp"
#include "types/heap_bytes.hpp"
#include "types/vtable_index.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence::types {

/// An entry of the table.
struct stored_class {
    std::string name; // mangled
    std::uint32_t position = 0;
    std::uint64_t object_bytes = 0; // 0: not known
    std::vector<virtual_base> virtual_bases{};
    std::uint64_t fingerprint = 0; // of its type; 0: not known
    bool operator==(const stored_class&) const = default;
};

/// Returns the entries of the table at a heap offset; nothing if it is damaged. Throws std::bad_alloc.
std::optional<std::vector<stored_class>> read_classes(heap_bytes& heap, std::uint64_t offset);

/// Returns how many bytes an entry takes.
[[nodiscard]] std::uint64_t bytes_of_entry(const stored_class& of);
/// Adds an entry. Returns false, and does nothing, if the table has no room for it. Precondition: the table is sound.
[[nodiscard]] bool append_class(format::class_table& table, const stored_class& added);

/// Sets size and fingerprint of an entry, which has the same bytes otherwise. Precondition: the table is sound.
void complete_class(format::class_table& table, std::size_t number, const stored_class& by);
/// Makes room for entries of so many bytes. The caller holds the write lock. errc::exhausted.
result<void> make_room_for_classes(txn::heap_memory& memory, std::uint64_t bytes);
/// Returns the number of an entry; adds the entry if the heap has none for the class and position. The caller holds the
/// write lock. errc::type_mismatch if it is of another class with this name; errc::corrupt, errc::exhausted.
result<std::uint64_t> admit_class(txn::heap_memory& memory, const stored_class& wanted);

} // namespace remanence::types
