// The allocator's data in the heap: its state struct in the heap's first page, and one descriptor for each page.
// Depends on nothing.
//
// The heap is divided into *sections*, which double in size. Each begins with a *metadata plane*, which contains the
// descriptors of the section's pages; the pages of a section that were never used are its *wilderness*. A *slab* is 16
// pages for small blocks, whose sizes are whole *granules* of 8 bytes. A *hole* is a run of free granules; a *bin* is
// the list of the slabs whose longest hole has a certain length. See src/alloc/README.md.
//
//  F1  A page index counts 4 KiB pages from the heap's base. 0 (the header) means "none". So a heap has at most 16 TiB.
//  F2  A descriptor of 16 zero bytes means "unused", so memory that was never touched needs no initialisation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint32_t k_alloc_state_version = 3;
inline constexpr std::uint32_t k_alloc_section_slots = 32; // 25 are in use: the last one, section 24, ends at 16 TiB
inline constexpr std::uint32_t k_alloc_bin_slots = 64;

/// What a page descriptor describes. Pages within a run have descriptors of zeros, except for those listed here.
enum class page_kind : std::uint8_t {
    unused = 0,     // unused space, the inside of a run, or the metadata plane itself
    slab = 1,       // first page of a slab
    large = 2,      // first page of a large block
    large_mark = 3, // inside a large block: points back to its first page
    free_run = 4,   // first page of a free run, a node of the tree
    free_tail = 5,  // last page of a free run of two pages or more
};

/// One for each page, in the metadata plane of the page's section.
struct page_descriptor {
    page_kind kind;       // page_kind
    std::uint8_t bin;     // slab in a list: index of that list; large, in volatile heaps: alloc::block_mark
    std::uint16_t hole;   // slab in a list: first granule of the hole that decides its bin
    std::uint32_t count;  // slab: free granules; large, free_run, free_tail: pages; large_mark: pages back to the first
    std::uint32_t before; // slab: previous in its bin's list; free_run: left child
    std::uint32_t after;  // slab: next in its bin's list; free_run: right child

    friend bool operator==(const page_descriptor&, const page_descriptor&) = default;
};
static_assert(sizeof(page_descriptor) == 16 && alignof(page_descriptor) == 4);
static_assert(offsetof(page_descriptor, kind) == 0 && offsetof(page_descriptor, bin) == 1);
static_assert(offsetof(page_descriptor, hole) == 2);
static_assert(offsetof(page_descriptor, count) == 4 && offsetof(page_descriptor, before) == 8);
static_assert(offsetof(page_descriptor, after) == 12);
static_assert(std::is_trivially_copyable_v<page_descriptor> && std::is_standard_layout_v<page_descriptor>);

/// Lies in the heap's first page, 8-aligned. In an empty heap all fields but the version are zero.
struct alloc_state {
    std::uint32_t version;                           // k_alloc_state_version
    std::uint32_t current_slab;                      // page index of the slab that serves small requests; 0: none
    std::uint64_t allocated_bytes;                   // in use by the program, rounded up to granules or pages
    std::uint64_t free_pages;                        // in free runs; excludes unused space and free granules in slabs
    std::uint32_t free_run_count;                    // nodes in the tree of free runs
    std::uint32_t free_run_root;                     // page index of its root
    std::uint32_t used_pages[k_alloc_section_slots]; // per section: data pages before its wilderness
    std::uint64_t used_bins;                         // one bit per bin: its list is not empty
    std::uint32_t hole_begin;                   // first granule of the hole in the current slab that serves requests
    std::uint32_t hole_end;                     // end of that hole
    std::uint32_t slab_head[k_alloc_bin_slots]; // per bin: page index of the first slab in its list
    std::uint32_t first_arena;                  // page index of an arena_header; 0: none
    std::uint32_t reserved[19];                 // zero
};
static_assert(sizeof(alloc_state) == 512 && alignof(alloc_state) == 8);
static_assert(offsetof(alloc_state, current_slab) == 4 && offsetof(alloc_state, allocated_bytes) == 8);
static_assert(offsetof(alloc_state, free_pages) == 16 && offsetof(alloc_state, free_run_count) == 24);
static_assert(offsetof(alloc_state, free_run_root) == 28 && offsetof(alloc_state, used_pages) == 32);
static_assert(offsetof(alloc_state, used_bins) == 160 && offsetof(alloc_state, hole_begin) == 168);
static_assert(offsetof(alloc_state, hole_end) == 172 && offsetof(alloc_state, slab_head) == 176);
static_assert(offsetof(alloc_state, first_arena) == 432 && offsetof(alloc_state, reserved) == 436);
static_assert(std::is_trivially_copyable_v<alloc_state> && std::is_standard_layout_v<alloc_state>);

} // namespace remanence::format
