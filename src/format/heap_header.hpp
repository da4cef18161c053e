// The first page of the heap's memory, from which everything else in the heap can be found. Part of the heap's
// contents: commit, rollback and recovery include it.
#pragma once

#include "base/units.hpp"
#include "format/alloc_state.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint64_t k_header_magic = 0x5041454844414548; // "HEADHEAP"
inline constexpr std::uint32_t k_header_version = 1;
inline constexpr std::uint32_t k_header_version_with_arenas = 2; // written with the first arena; the layout is the same
inline constexpr std::uint32_t k_header_version_with_classes = 3; // written with the first class table
inline constexpr std::uint32_t k_header_version_newest = k_header_version_with_classes;

struct heap_header {
    std::uint64_t magic;   // k_header_magic
    std::uint32_t version; // k_header_version, or one of the later ones above
    std::uint32_t zero;
    std::uint64_t root_word;      // heap offset of the root directory; 0: none yet
    std::uint64_t schema_offset;  // heap offset of a table of types; 0: none (k_feature_schema)
    std::uint64_t schema_bytes;   // length of that table
    std::uint32_t schema_version; // number of that table's layout
    std::uint32_t schema_zero;
    std::uint64_t type_table;  // heap offset of the schema_table; 0: none
    std::uint64_t class_table; // heap offset of the class_table; 0: none
    alloc_state allocator;     // of the whole heap
};
static_assert(sizeof(heap_header) <= k_page_bytes);
static_assert(offsetof(heap_header, root_word) == 16 && offsetof(heap_header, schema_offset) == 24);
static_assert(offsetof(heap_header, schema_version) == 40 && offsetof(heap_header, type_table) == 48 &&
              offsetof(heap_header, class_table) == 56 && offsetof(heap_header, allocator) == 64);
static_assert(std::is_trivially_copyable_v<heap_header>);

constexpr bool is_known_header_version(std::uint32_t version) {
    return version >= k_header_version && version <= k_header_version_newest;
}

/// True if the header's schema fields are consistent (I7). `may_have_one`: the superblock has k_feature_schema.
constexpr bool has_sound_schema(const heap_header& h, bool may_have_one, std::uint64_t image_bytes) {
    if (h.schema_offset == 0)
        return h.schema_bytes == 0 && h.schema_version == 0 && h.schema_zero == 0;
    return may_have_one && h.schema_version != 0 && h.schema_zero == 0 && h.schema_bytes != 0 &&
           h.schema_bytes <= image_bytes && h.schema_offset <= image_bytes - h.schema_bytes;
}

} // namespace remanence::format
