// The root directory as it lies in the heap: a table of entries, sorted by name. Part of the heap's contents. All
// references are offsets from the heap's base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint64_t k_directory_magic = 0x59524f5443455249; // "IRECTORY"
inline constexpr std::uint32_t k_directory_version = 1;

/// Found by heap_header::root_word.
struct root_directory {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t zero;
    std::uint64_t count;
    std::uint64_t capacity; // of the table
    std::uint64_t table;    // u64[capacity]: offsets of root_entry, sorted by name
};
static_assert(sizeof(root_directory) == 40 && offsetof(root_directory, table) == 32);

/// What a type looked like to one algorithm.
struct root_entry {
    std::uint64_t object;
    std::uint64_t object_bytes;
    std::uint32_t object_alignment;
    std::uint32_t description_bytes; // 0: there is none. Those of fingerprint algorithm 1 have none
    std::uint64_t fingerprint_hash;
    std::uint32_t fingerprint_algorithm;
    std::uint32_t name_bytes;
    std::uint32_t type_bytes;
    std::uint32_t flags;
    // then the name, the type's readable name, not terminated, and the description of the type
};
/// Of root_entry::flags: the object holds no address, says the program that made it.
inline constexpr std::uint32_t k_root_is_position_independent = 1;
static_assert(sizeof(root_entry) == 48 && offsetof(root_entry, description_bytes) == 20 &&
              offsetof(root_entry, name_bytes) == 36);
static_assert(std::is_trivially_copyable_v<root_directory> && std::is_trivially_copyable_v<root_entry>);

} // namespace remanence::format
