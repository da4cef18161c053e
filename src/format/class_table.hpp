// The classes with virtual functions whose objects lie in the heap: one block, to which heap_header::class_table refers.
// Part of the heap's contents. The number of an entry tells where each process has the copy of the class's vtable (its
// *stall*), and so what the objects' vptrs contain (docs/format.md, "Class table").
#pragma once

#include "base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint64_t k_classes_magic = 0x53455353414c4352; // "RCLASSES"
inline constexpr std::uint32_t k_classes_version = 1;
inline constexpr std::uint64_t k_classes_bytes_max = std::uint64_t{1} << 24;

struct class_table {
    std::uint64_t magic;      // k_classes_magic
    std::uint32_t version;    // k_classes_version
    std::uint32_t count;      // entries
    std::uint64_t bytes;      // total length, with room for more entries
    std::uint64_t used_bytes; // this struct and the entries
};
static_assert(sizeof(class_table) == 32 && offsetof(class_table, used_bytes) == 24);

/// A vtable: of a class, for one of its subobjects. Behind this struct come the offsets of virtual bases and the mangled
/// name, then zeros.
struct class_entry {
    std::uint32_t bytes;         // of the entry, a multiple of 8
    std::uint32_t position;      // of the subobject in the object
    std::uint64_t object_bytes;  // size of an object; 0: not known
    std::uint32_t virtual_bases; // class_virtual_base structs
    std::uint32_t name_bytes;    // length of the name
    std::uint64_t fingerprint;   // of the class, to find its schema in the type table; 0: not known
};
static_assert(sizeof(class_entry) == 32 && offsetof(class_entry, fingerprint) == 24);

/// Where a vtable of the class stores how far a virtual base is from the subobject.
struct class_virtual_base {
    std::uint32_t position; // of the subobject
    std::int32_t slot;      // bytes from the address point, negative
    std::int64_t offset;    // of the base, from the subobject
};
static_assert(sizeof(class_virtual_base) == 16 && offsetof(class_virtual_base, offset) == 8);
static_assert(std::is_trivially_copyable_v<class_table> && std::is_trivially_copyable_v<class_entry> &&
              std::is_trivially_copyable_v<class_virtual_base>);

// Where a process has the stalls of a heap: above an address that follows from the heap's base.
inline constexpr std::uint64_t k_stalls_bytes = 4 * MiB; // for each GiB of bases
inline constexpr std::uint64_t k_stall_bytes = 3136;     // no power of two, so that stalls use different cache sets
inline constexpr std::uint64_t k_stall_point = 512;      // offset of the address point in a stall
inline constexpr std::uint64_t k_stalls_max = k_stalls_bytes / k_stall_bytes;

/// Returns the address of the first stall of a heap with this base. Heaps of programs with sanitizers have theirs
/// below their bases, where sanitizers permit it; all others between the bases and the system's mappings.
constexpr std::uint64_t stalls_of(std::uint64_t base) {
    constexpr std::uint64_t k_sanitized_begin = 0x5700'0000'0000;
    constexpr std::uint64_t k_sanitized_end = 0x5a00'0000'0000;
    if (base >= k_sanitized_begin && base < k_sanitized_end)
        return 0x56f0'0000'0000 + (base - k_sanitized_begin) / GiB * k_stalls_bytes;
    return 0x2a00'0000'0000 + base / GiB * k_stalls_bytes;
}
static_assert(stalls_of(0x59ff'c000'0000) + k_stalls_bytes <= 0x5700'0000'0000);
static_assert(stalls_of(std::uint64_t{1} << 47) <= 0x2aaa'aaaa'a000);

/// Returns what the vptr of an object contains.
constexpr std::uint64_t stall_point(std::uint64_t base, std::uint64_t number) {
    return stalls_of(base) + number * k_stall_bytes + k_stall_point;
}

} // namespace remanence::format
