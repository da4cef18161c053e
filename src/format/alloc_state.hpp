// What the allocator keeps in the heap: its state struct in the heap's first page, and one descriptor per page.
// src/alloc/README.md describes the structures that they form. Depends on nothing.
//
//  F1  A page index counts 4 KiB pages from the heap's base; 0 (the header) stands for "none". So a heap has at most 16
//  TiB. F2  A descriptor of 16 zero bytes means unused: memory never touched needs no initialisation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint32_t k_alloc_state_version = 1;
inline constexpr std::uint32_t k_alloc_section_slots = 32; // 25 are in use: section 24 ends at 16 TiB
inline constexpr std::uint32_t k_alloc_class_slots = 64;

/// What a page descriptor describes; every page of a run that is not named here has a zero descriptor.
enum class page_kind : std::uint8_t {
    unused = 0,     // wilderness, the inside of a run, or the metadata plane itself
    slab = 1,       // first page of a slab
    slab_part = 2,  // each further page of a slab
    large = 3,      // first page of a large block
    large_mark = 4, // inside a large block: leads back to its first page
    free_run = 5,   // first page of a free run, a node of the tree
    free_tail = 6,  // last page of a free run of two pages or more
};

/// One per page, in the metadata plane of the page's section.
struct page_descriptor {
    page_kind kind;
    std::uint8_t size_class; // slab, slab_part
    std::uint8_t back;       // slab_part: pages back to the slab's first
    std::uint8_t hint;       // slab: every bitmap word before this one is full
    std::uint32_t count;     // slab: free slots; large, free_run, free_tail: pages; large_mark: pages back to the first
    std::uint32_t before;    // slab: previous in its class's list; free_run: left child
    std::uint32_t after;     // slab: next in its class's list; free_run: right child

    friend bool operator==(const page_descriptor&, const page_descriptor&) = default;
};
static_assert(sizeof(page_descriptor) == 16 && alignof(page_descriptor) == 4);
static_assert(offsetof(page_descriptor, kind) == 0 && offsetof(page_descriptor, size_class) == 1);
static_assert(offsetof(page_descriptor, back) == 2 && offsetof(page_descriptor, hint) == 3);
static_assert(offsetof(page_descriptor, count) == 4 && offsetof(page_descriptor, before) == 8);
static_assert(offsetof(page_descriptor, after) == 12);
static_assert(std::is_trivially_copyable_v<page_descriptor> && std::is_standard_layout_v<page_descriptor>);

/// Lies in the heap's first page, 8-aligned. All zero but for the first two members when the heap is empty.
struct alloc_state {
    std::uint32_t version;                           // k_alloc_state_version
    std::uint32_t class_count;                       // size classes that this heap was made with
    std::uint64_t allocated_bytes;                   // what the program holds, rounded up to whole blocks
    std::uint64_t free_pages;                        // in the free runs; neither wilderness nor free slots
    std::uint32_t free_run_count;                    // nodes of the tree of free runs
    std::uint32_t free_run_root;                     // page index of its root
    std::uint32_t used_pages[k_alloc_section_slots]; // per section: data pages before its wilderness
    std::uint32_t
        slab_head[k_alloc_class_slots]; // per class: page index of its current slab, first of those with free slots
    std::uint32_t slab_kept[k_alloc_class_slots]; // per class: the one slab that may be empty; it need not be so
    std::uint32_t reserved[24];                   // zero
};
static_assert(sizeof(alloc_state) == 768 && alignof(alloc_state) == 8);
static_assert(offsetof(alloc_state, allocated_bytes) == 8 && offsetof(alloc_state, free_pages) == 16);
static_assert(offsetof(alloc_state, free_run_count) == 24 && offsetof(alloc_state, free_run_root) == 28);
static_assert(offsetof(alloc_state, used_pages) == 32 && offsetof(alloc_state, slab_head) == 160);
static_assert(offsetof(alloc_state, slab_kept) == 416 && offsetof(alloc_state, reserved) == 672);
static_assert(std::is_trivially_copyable_v<alloc_state> && std::is_standard_layout_v<alloc_state>);

} // namespace remanence::format
