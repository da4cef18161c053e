// Small blocks: bump allocation through the holes of one slab after the other. Depends on slab_layout, magazines, page_runs
// and heap_pages.
//
// What is allocated together lies together, whatever its sizes: the node of a tree and the strings in it share cache
// lines, and a small transaction changes few pages. (Slabs of one size each spread an address book's entry over four
// pages; bench/results/design-choices.md has the measurement.) Bits apart from the blocks say what is free, so allocating and freeing
// never touch a data page, and neighbouring free blocks are one hole without further ado.
//
//  B1  Requests are served from the current slab's hole, then from its next hole that is long enough. When none follows,
//      another slab becomes the current one, that with the longest hole. Only when no slab has one that fits, the heap
//      grows by a slab.
//  B2  Every other slab with a free granule, but for those that are lent (L1), is in the list of the bin of its longest
//      hole, and none but these and the current one is empty: a slab that becomes empty gives its pages back at once. A
//      full slab, a lent one, and the current one have no links.
//  B3  A set used bit is a granule of a block, a set start bit its first. A start bit has its used bit. Bits of pages in
//      no slab are zero.
//  B4  Whatever an operation reads through a link is checked before anything is changed (I7). What does not fit is noted
//      as damage.
#pragma once

#include "alloc/heap_pages.hpp"
#include "alloc/lent_slab.hpp"
#include "alloc/magazines.hpp"
#include "alloc/page_runs.hpp"
#include "alloc/slab_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace remanence::alloc {

/// Within the used bits of a slab, in granules; empty when there is none.
struct hole {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] std::uint32_t length() const { return end - begin; }
};

/// The first at `from` or later where `count` granules fit at a multiple of `alignment`. O(granules / 64).
[[nodiscard]] hole find_hole(const std::uint64_t* used, std::uint32_t from, std::uint32_t count,
                             std::uint32_t alignment);
/// Of a slab with so many free granules the longest, or the first that any small block fits in. O(granules / 64 + holes).
[[nodiscard]] hole longest_hole(const std::uint64_t* used, std::uint32_t free_count);

/// True if the granules of a slab are a block.
[[nodiscard]] bool is_block(const std::uint64_t* used, const std::uint64_t* starts, hole place);

class slabs {
public:
    slabs(heap_pages& pages, page_runs& runs, magazines& kept) : pages_(pages), runs_(runs), kept_(kept) {}

    /// In granules, at a multiple of what follows from the size. Null, and nothing has changed, when there is no memory.
    /// O(1), but when the current slab is used up.
    [[nodiscard]] void* allocate(std::uint32_t count) {
        void* const kept = take_kept(count);
        return kept != nullptr ? kept : allocate_in_hole(count, natural_alignment(count));
    }
    /// At a multiple of `alignment` granules, too.
    [[nodiscard]] void* allocate(std::uint32_t count, std::uint32_t alignment) {
        return alignment <= natural_alignment(count) ? allocate(count) : allocate_in_hole(count, alignment);
    }
    /// Those at this offset (placed_blocks.cpp). False, and nothing has changed, when they are not free, or there is damage. Nothing may be kept.
    [[nodiscard]] bool allocate_at(std::uint64_t offset, std::uint32_t count);
    /// False, and nothing has changed, when no block of that many granules begins there. It is kept, if there is room for
    /// more of its size.
    [[nodiscard]] bool deallocate(void* address, std::uint32_t count);
    /// Really frees all that is kept. Whether that may have made room.
    bool flush();
    /// Gives the current slab back if it is empty.
    void release_empty();

    /// Takes a slab out of all lists, one with a hole for so many granules, aligned so, and for any small block: the current one, if it
    /// has one, so that none is current then. Shorter holes would be used up too soon, so the heap grows by a slab if these are few.
    /// Frees what is kept. False when they are more than an eighth of what is allocated, or there is no memory. `to` is none.
    [[nodiscard]] bool lend(lent_slab& to, std::uint32_t count, std::uint32_t alignment);
    /// It becomes the current one (B2).
    void take_back(lent_slab& from);

    /// True if the page, any that is a data page, belongs to a slab.
    [[nodiscard]] bool is_in_slab(std::uint32_t page) const;
    /// True if no granule of a slab's page is in use.
    [[nodiscard]] bool is_free_page(std::uint32_t page) const;
    /// The block that an offset in a slab lies in, as offsets.
    struct extent {
        std::uint64_t offset;
        std::uint64_t bytes;
    };
    [[nodiscard]] std::optional<extent> block_at(std::uint64_t offset) const;
    void for_each_block(std::uint32_t slab, const std::function<void(extent)>& visit) const;
    /// Shows how many bytes each run of free granules has.
    void for_each_hole(std::uint32_t slab, const std::function<void(std::uint64_t bytes)>& visit) const;

    /// What a link may lead to: the first page of a slab, all of it accessible.
    [[nodiscard]] static bool is_slab(const heap_pages& pages, std::uint32_t page);

private:
    [[nodiscard]] void* take_kept(std::uint32_t count) {
        void* const block = kept_.take(count);
        if (block == nullptr || pages_.found_damage()) // A2
            return nullptr;
        pages_.declare(pages_.offset_of(block), count * k_granule_bytes);
        return block;
    }
    [[nodiscard]] bool is_current_ample() const {
        return pages_.state().current_slab != 0 &&
               pages_.state().hole_begin + k_small_granules_max <= pages_.state().hole_end;
    }
    [[nodiscard]] bool may_grow_to_lend() const;
    [[nodiscard]] void* allocate_in_hole(std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] void* claim(std::uint32_t begin, std::uint32_t count);
    [[nodiscard, gnu::cold]] void* no_hole(std::uint32_t slab);
    [[nodiscard, gnu::noinline]] void* allocate_elsewhere(std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool advance_in_current(std::uint32_t from, std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool adopt_listed(std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool adopt_from(std::uint32_t bin, std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool adopt_new();
    [[nodiscard]] bool make_current(std::uint32_t slab, hole first);
    [[nodiscard]] bool retire_current();
    void set_hole(hole next);
    /// Of a slab.
    [[nodiscard]] std::uint64_t* changing_bits(const std::uint64_t* bits) const {
        return pages_.changing(bits, k_slab_granules / 64);
    }

    [[nodiscard]] bool deallocate_quickly(void* address, std::uint32_t count);
    [[nodiscard, gnu::noinline]] bool deallocate_any(void* address, std::uint32_t count);
    void note_freed(const format::page_descriptor& d, std::uint32_t count, bool is_current, std::uint32_t begin);
    struct place;
    [[nodiscard]] place place_of(const void* address, std::uint32_t count) const;
    [[gnu::noinline]] void free_block(const place& at);
    [[nodiscard]] bool move_to_bin(const place& freed);
    [[nodiscard]] bool link(std::uint32_t slab, hole longest);
    [[nodiscard]] bool unlink(std::uint32_t slab);
    [[nodiscard]] const format::page_descriptor* linked(std::uint32_t slab, std::uint32_t bin);
    [[nodiscard]] bool release(std::uint32_t slab);
    [[nodiscard, gnu::cold]] bool note_damage(std::uint32_t slab, const char* what);

    heap_pages& pages_;
    page_runs& runs_;
    magazines& kept_;
};

} // namespace remanence::alloc
