// Small blocks: bump allocation through the holes (runs of free granules) of one slab after the other. The slab in use
// is the current one; the others with holes are in lists, called bins (slab_layout.hpp). Depends on slab_layout,
// magazines, page_runs and heap_pages.
//
// Blocks that are allocated together lie together, whatever their sizes: the node of a tree and its strings share cache
// lines, and a small transaction changes few pages. (Slabs of one size each spread an address book's entry over four
// pages; bench/results/design-choices.md has the measurement.) Bits outside of the blocks say what is free. So
// allocating and freeing never touch a data page, and neighbouring free blocks form one hole automatically.
//
//  B1  Requests are served from the current slab's hole, then from its next hole that is long enough. If there is none,
//      the slab with the longest hole becomes the current one. Only if no slab has a hole that fits, the heap grows by
//      a slab.
//  B2  Every other slab with a free granule is in the list of the bin of its longest hole, except lent slabs (L1). Only
//      the current slab and lent slabs may be empty: the pages of any other slab are freed as soon as it is empty. A
//      full slab, a lent one, and the current one have no links.
//  B3  A set used bit marks a granule of a block; a set start bit marks the first granule of a block. Where the start
//      bit is set, so is the used bit. Bits of pages in no slab are zero.
//  B4  Everything that an operation reads through a link is checked before anything is changed (I7). Mismatches are
//      noted as damage.
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

/// A hole within the used bits of a slab, in granules; empty if there is none.
struct hole {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] std::uint32_t length() const { return end - begin; }
};

/// Returns the first place from `from` on where `count` granules fit at a multiple of `alignment`. O(granules / 64).
[[nodiscard]] hole find_hole(const std::uint64_t* used, std::uint32_t from, std::uint32_t count,
                             std::uint32_t alignment);
/// Returns the longest hole of a slab with `free_count` free granules, or the first that has room for any small block.
/// O(granules / 64 + holes).
[[nodiscard]] hole longest_hole(const std::uint64_t* used, std::uint32_t free_count);

/// True if these granules of a slab are a block.
[[nodiscard]] bool is_block(const std::uint64_t* used, const std::uint64_t* starts, hole place);

class slabs {
public:
    slabs(heap_pages& pages, page_runs& runs, magazines& kept) : pages_(pages), runs_(runs), kept_(kept) {}

    /// Allocates `count` granules; the size decides the alignment. Returns null, and has changed nothing, if there is
    /// no memory. O(1), except when the current slab is used up.
    [[nodiscard]] void* allocate(std::uint32_t count) {
        void* const kept = take_kept(count);
        return kept != nullptr ? kept : allocate_in_hole(count, natural_alignment(count));
    }
    /// Like the other allocate(), at a multiple of `alignment` granules.
    [[nodiscard]] void* allocate(std::uint32_t count, std::uint32_t alignment) {
        return alignment <= natural_alignment(count) ? allocate(count) : allocate_in_hole(count, alignment);
    }
    /// Allocates the granules at this offset (placed_blocks.cpp). Returns false, and has changed nothing, if they are
    /// not free, or there is damage. No block may be in a magazine.
    [[nodiscard]] bool allocate_at(std::uint64_t offset, std::uint32_t count);
    /// Frees a block. Returns false, and has changed nothing, if no block of that many granules begins there. The block
    /// is put into a magazine if there is room.
    [[nodiscard]] bool deallocate(void* address, std::uint32_t count);
    /// Really frees all blocks in magazines. Returns true if that may have made room.
    bool flush();
    /// Gives the current slab back if it is empty.
    void release_empty();

    /// Lends a slab to `to`, which must be empty: the current slab if it has room for any small block; else a listed
    /// one with such a hole, which must also fit `count` granules at this alignment; else a new one. (Other slabs would
    /// be used up too soon.) The slab is in no list then, and not current. Frees all blocks in magazines. Returns false
    /// if a new slab is needed although holes have more than an eighth of the allocated memory plus 1 MiB, or if there
    /// is no memory.
    [[nodiscard]] bool lend(lent_slab& to, std::uint32_t count, std::uint32_t alignment);
    /// Takes a lent slab back; it becomes the current one (B2).
    void take_back(lent_slab& from);

    /// True if the page belongs to a slab. Precondition: it is a data page.
    [[nodiscard]] bool is_in_slab(std::uint32_t page) const;
    /// True if no granule of a slab's page is in use.
    [[nodiscard]] bool is_free_page(std::uint32_t page) const;
    /// A block in a slab, as offsets.
    struct extent {
        std::uint64_t offset;
        std::uint64_t bytes;
    };
    [[nodiscard]] std::optional<extent> block_at(std::uint64_t offset) const;
    void for_each_block(std::uint32_t slab, const std::function<void(extent)>& visit) const;
    /// Calls `visit` with the size of each run of free granules.
    void for_each_hole(std::uint32_t slab, const std::function<void(std::uint64_t bytes)>& visit) const;

    /// True if a link may lead to `page`: it is the first page of a slab that is accessible as a whole.
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
    /// `bits` must be those of a slab.
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
