// The first page of an arena: a large block in which the blocks of one purpose lie together, with an allocator state of their own.
// Part of the heap's contents. Depends on alloc_state.
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
inline constexpr std::uint32_t k_arena_alignment_pages = GiB / k_page_bytes; // of where it begins
inline constexpr std::size_t k_arena_name_bytes = 128;                       // with the zero behind it

/// An arena is as a heap of its own, whose page 0 this is: page indexes in `allocator` count from there.
struct arena_header {
    std::uint64_t magic;          // k_arena_magic
    std::uint32_t next;           // page index, in the heap, of another arena; 0: this is the last one
    std::uint32_t pages;          // of the block: a power of two, k_arena_pages_min or more
    std::uint32_t sections_ready; // whose planes were made zero
    std::uint32_t zero;
    std::uint64_t resident_limit_bytes;        // bytes in memory at which pages are taken out; 0: never
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
