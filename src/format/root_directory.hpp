// The root directory in the heap: a table of entries, sorted by name. Part of the heap's contents. All references are
// offsets from the heap's base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint64_t k_directory_magic = 0x59524f5443455249; // "IRECTORY"
inline constexpr std::uint32_t k_directory_version = 1;

/// heap_header::root_word refers to it.
struct root_directory {
    std::uint64_t magic;   // k_directory_magic
    std::uint32_t version; // k_directory_version
    std::uint32_t zero;
    std::uint64_t count;    // entries
    std::uint64_t capacity; // slots of the table
    std::uint64_t table;    // heap offset of u64[capacity]: offsets of root_entry, sorted bytewise by name
};
static_assert(sizeof(root_directory) == 40 && offsetof(root_directory, table) == 32);

/// A root: its object, and its type as the fingerprint algorithm recorded it.
struct root_entry {
    std::uint64_t object;                // heap offset of the object
    std::uint64_t object_bytes;          // its size
    std::uint32_t object_alignment;      // its alignment
    std::uint32_t description_bytes;     // length of the description, at most 65,536; 0: none
    std::uint64_t fingerprint_hash;      // of the type's structure
    std::uint32_t fingerprint_algorithm; // what is hashed, and how: 2; 1 in earlier builds
    std::uint32_t name_bytes;            // length of the root's name
    std::uint32_t type_bytes;            // length of the type's name
    std::uint32_t flags;                 // k_root_is_position_independent; others: damage
    // then the root's name, the type's readable name (neither is terminated), and the type's description
};
/// A bit of root_entry::flags: the program that made the root declared that the object holds no address.
inline constexpr std::uint32_t k_root_is_position_independent = 1;
static_assert(sizeof(root_entry) == 48 && offsetof(root_entry, description_bytes) == 20 &&
              offsetof(root_entry, name_bytes) == 36);
static_assert(std::is_trivially_copyable_v<root_directory> && std::is_trivially_copyable_v<root_entry>);

} // namespace remanence::format
