// The first page of an arena: a large block that contains the blocks of one purpose, with an allocator state of its
// own. Part of the heap's contents. Depends on alloc_state.
#pragma once

#include "base/units.hpp"
#include "format/alloc_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint64_t k_arena_magic = 0x4e45524150414548; // "HEAPAREN"
inline constexpr std::uint32_t k_arena_pages_min = 256;
inline constexpr std::uint32_t k_arena_alignment_pages = GiB / k_page_bytes; // alignment of its first page
inline constexpr std::size_t k_arena_name_bytes = 128;                       // including the terminating zero

/// An arena is like a small heap with this page as page 0: page indexes in `allocator` count from here.
struct arena_header {
    std::uint64_t magic;          // k_arena_magic
    std::uint32_t next;           // page index, in the heap, of the next arena; 0: this is the last one
    std::uint32_t pages;          // length of the block: a power of two, at least k_arena_pages_min
    std::uint32_t sections_ready; // sections whose metadata planes (alloc_state.hpp) have been zeroed
    std::uint32_t zero;
    std::uint64_t resident_limit_bytes;        // above this many bytes in memory, pages are evicted; 0: no limit
    std::uint64_t reserved[4];                 // zero
    std::array<char, k_arena_name_bytes> name; // zero-terminated, not empty
    alloc_state allocator;                     // of this arena
};
static_assert(sizeof(arena_header) == 704 && sizeof(arena_header) <= k_page_bytes);
static_assert(offsetof(arena_header, next) == 8 && offsetof(arena_header, pages) == 12);
static_assert(offsetof(arena_header, sections_ready) == 16 && offsetof(arena_header, resident_limit_bytes) == 24);
static_assert(offsetof(arena_header, name) == 64 && offsetof(arena_header, allocator) == 192);
static_assert(std::is_trivially_copyable_v<arena_header>);

} // namespace remanence::format
