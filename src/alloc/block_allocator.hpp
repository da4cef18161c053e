// The allocator: blocks of any size within [base, base + limit). All of its state lies in that memory and refers to it
// by page indexes. So a commit, rollback or recovery of the memory includes the allocator, which logs nothing, and the
// memory may be mapped at any address (I6). Depends on slabs, page_runs and heap_pages. README.md in this folder has
// the overview.
//
// Small blocks come from slabs; large ones are runs of whole pages. Small blocks that the program gives back are freed
// a few at a time (returned_blocks.hpp), and the smallest of them are put into magazines, short stacks from which they
// are allocated again (magazines.hpp). Until they are really freed, the state in the heap's memory shows these blocks
// as in use.
//
//  B5  To find the large block around a page, clear the lowest set bits of the page index one after the other: the
//      first page met whose descriptor is not zero leads to the block. For this, the first multiple of each power of
//      two inside the block has a mark.
//  B6  If an operation follows a link to something impossible, that is damage: damaged() tells where. From then on
//      allocate() fails and deallocate() leaks, until check_state() is called after the memory was rolled back.
#pragma once

#include "alloc/heap_pages.hpp"
#include "alloc/magazines.hpp"
#include "alloc/occupancy.hpp"
#include "alloc/page_runs.hpp"
#include "alloc/returned_blocks.hpp"
#include "alloc/slabs.hpp"
#include "base/range.hpp"
#include "format/arena_header.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::alloc {

inline constexpr std::size_t k_alignment_max = GiB;

struct block {
    void* start;
    std::size_t bytes; // usable: at least as many as were requested
    friend bool operator==(const block&, const block&) = default;
};

enum class block_mark : std::uint8_t {
    none,
    keeps_room, // keeps its size, even if its contents shrink
    was_moved,  // its pages were moved here, so they are a mapping of their own
};

/// Reports a place in the heap where something is wrong, and what.
using problem_callback = std::function<void(std::uint64_t offset, std::string_view what)>;

/// Not thread-safe: the caller must hold a lock. Alignments hold for offsets in the heap; they hold for addresses as
/// far as the base is aligned.
class block_allocator {
public:
    /// `base` is a multiple of the page size, and `state` lies in the page at `base`; [base, base + accessible_bytes)
    /// can be read and written.
    block_allocator(std::byte* base, format::alloc_state& state, extend_callback extend, std::uint64_t limit_bytes,
                    std::uint64_t accessible_bytes);
    ~block_allocator();
    block_allocator(const block_allocator&) = delete;
    block_allocator& operator=(const block_allocator&) = delete;

    /// Writes the state of an empty heap. The memory behind the first page must be zero.
    static void format(format::alloc_state& state);
    /// Checks everything that needs no walk, and makes the memory in use accessible. Must be called after the
    /// constructor, and whenever the memory was changed from outside the allocator. Fails with errc::corrupt and the
    /// heap's offset, or with the error of the callback. O(bins).
    [[nodiscard]] result<void> check_state();

    /// Allocates a block. Returns null, and has changed no block, if there is no memory, or the alignment is no power
    /// of two up to k_alignment_max: failure() tells why. A request for 0 bytes counts as 1 byte. O(1) for small
    /// blocks, except when a slab is used up; otherwise O(log free runs).
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = k_granule_bytes);
    /// Allocates a block at exactly this address. Returns false, and has changed no block, if not all of it is free.
    /// O(free runs) if there is no slab. Precondition: no slab is lent.
    [[nodiscard]] bool allocate_at(void* address, std::size_t bytes, std::size_t alignment);
    /// Frees a block; give the size and alignment of its allocation. A small block may stay in a magazine for
    /// allocate(): see flush(). Aborts, and names address and size, if there is no such block: that is an error of the
    /// program. For a small block, the error may only be found by free_returned(), or by the next allocate() or
    /// flush(). O(1) for small blocks, except when a slab becomes empty; otherwise O(log free runs).
    void deallocate(void* address, std::size_t bytes, std::size_t alignment = k_granule_bytes) {
        if (!arenas_.empty() && deallocate_in_arena(address, bytes, alignment)) [[unlikely]]
            return;
        if (!is_small(bytes, alignment)) [[unlikely]] {
            deallocate_large(address, bytes);
        } else if (returned_.put(address, static_cast<std::uint32_t>(bytes))) [[unlikely]] {
            free_returned();
        }
    }

    /// Makes a large block of `bytes` bytes longer or shorter in place, at its end. Returns false, and has changed
    /// nothing, if the block is not large, would become a small one, or the pages behind it are not free. O(log free
    /// runs).
    [[nodiscard]] bool resize(void* address, std::size_t bytes, std::size_t new_bytes);

    /// True if a large block of `bytes` bytes would be allocated at a lower address, in free pages where blocks lay
    /// before. O(log free runs).
    [[nodiscard]] bool has_hole_before(const void* address, std::size_t bytes);
    /// Marks a large block; it keeps the mark until it is resized or freed. Only for memory without a file: in a heap's
    /// file, a mark is damage.
    void set_mark(const void* address, block_mark mark);
    [[nodiscard]] block_mark mark_of(const void* address) const;

    /// Frees the blocks that the program has given back.
    [[gnu::noinline]] void free_returned();

    /// Lends a slab to a thread, which then allocates without the lock; take_back() ends that (slabs.hpp). While it is
    /// lent, check_invariants() reports the slab as missing.
    [[nodiscard]] bool lend(lent_slab& to, std::uint32_t granules, std::uint32_t alignment) {
        free_returned();
        return slabs_.lend(to, granules, alignment);
    }
    void take_back(lent_slab& from) { slabs_.take_back(from); }

    /// Returns the size of the block that allocate() returns for this request; deallocate() accepts this size, too.
    [[nodiscard]] static std::size_t block_bytes(std::size_t bytes, std::size_t alignment = k_granule_bytes);
    /// Returns the allocated block that an address points into. O(log of the block's size).
    [[nodiscard]] std::optional<block> block_of(const void* address) const;
    /// True if the address lies in a slab. Only in heaps of early releases a block that fills pages does.
    [[nodiscard]] bool is_in_slab(const void* address) const;
    /// True if no byte of a data page belongs to a block, so that its contents do not matter. Blocks that were given
    /// back count as blocks until they are really freed: see flush(). O(1) in a slab, else O(log of the block's size).
    [[nodiscard]] bool is_free_page(std::uint64_t page) const;
    /// Returns what may become zeros before `end`, in stretches of at least `bytes_min`, sorted: free pages, without
    /// slabs in use, and the metadata planes of sections without a page in use, which are zero already. A slab is in use
    /// also if all of its blocks were given back, but are not really freed yet. O(log of free runs) for each stretch,
    /// and O(sections).
    [[nodiscard]] std::vector<heap_range> unused_stretches(std::uint64_t bytes_min, std::uint64_t end);
    /// True if a page of such a stretch, which must be accessible, is what it should be: free, or a page of zeros in a
    /// plane.
    [[nodiscard]] bool may_become_zeros(std::uint64_t page) const;
    enum class planes { left_out, if_unused };
    /// Calls `visit` for each stretch of free pages, or each that unused_stretches() would return, in no order; continues
    /// after damage. Allocates no memory. `visit` must not change the allocator.
    void for_each_free_stretch(std::uint64_t bytes_min, std::uint64_t end, planes also,
                               const std::function<void(heap_range)>& visit);
    /// Visits all allocated blocks in the order of their addresses. `visit` must not allocate or deallocate.
    void for_each_block(const std::function<void(block)>& visit) const;
    [[nodiscard]] std::uint64_t allocated_bytes() const;
    /// Returns how the memory is used. Precondition: check_invariants() finds nothing. O(pages + blocks).
    [[nodiscard]] occupancy survey() const;

    // Arenas: large blocks with allocators of their own (arenas.cpp). All functions of this class that take an address,
    // or report blocks, include the blocks in arenas. check_state() builds the list of arenas from memory; before it,
    // none are known.

    /// Returns why make_arena() would refuse these arguments; null if it would not.
    [[nodiscard]] static const char* why_no_arena(std::string_view name, std::uint64_t room_bytes);
    /// Makes an arena. Returns null if there is no memory, or the name is invalid or taken: failure() tells.
    /// `room_bytes`: the most memory that the arena may use, its metadata included; a power of two of 1 MiB or more.
    [[nodiscard]] std::byte* make_arena(std::string_view name, std::uint64_t room_bytes,
                                        std::uint64_t resident_limit_bytes);
    /// Returns the beginning of the arena with this name; null if there is none.
    [[nodiscard]] std::byte* find_arena(std::string_view name) const;
    /// Returns the allocator of the arena that begins at `base`; null if none does.
    [[nodiscard]] block_allocator* arena_at(const void* base);
    /// Returns the allocator of the arena that contains an address; null if none does.
    [[nodiscard]] block_allocator* arena_around(const void* address) const;
    /// Frees an arena with everything in it. O(log free runs).
    void destroy_arena(std::byte* base);
    void for_each_arena(const std::function<void(const format::arena_header&, const block_allocator&)>& visit) const;
    /// Returns the end of the memory ever used, counted from the base: no page behind it was ever written.
    [[nodiscard]] std::uint64_t used_bytes() const;
    [[nodiscard]] std::byte* base() const { return pages_.base(); }

    /// Brings the memory up to date: really frees the blocks that were given back, including those in magazines (G1,
    /// M2). Aborts as deallocate() does. O(1) for each of these few blocks.
    void flush() {
        free_returned();
        (void)slabs_.flush();
        if (!arenas_.empty())
            flush_arenas();
    }
    /// Gives back the slab that serves small requests if it is empty.
    void release_empty_slab() {
        flush();
        slabs_.release_empty();
        release_empty_slabs_of_arenas();
    }

    /// Walks through all of the allocator's structures and compares them with each other. Returns the number of
    /// problems, and reports the first hundred. Changes nothing. O(pages).
    std::size_t check_invariants(const problem_callback& report) const;

    [[nodiscard]] const std::optional<damage>& damaged() const { return pages_.found_damage(); }
    /// Returns why the last allocate() returned null.
    [[nodiscard]] unexpected failure() const { return pages_.failure(); }
    void set_accessible(std::uint64_t bytes) { pages_.set_accessible(bytes); }
    /// Sets the listener; an empty function removes it. It is called before each write: for places in the allocator's
    /// own structures, and for all of every block before allocate() returns the block. It must not throw.
    void set_listener(write_listener listener) {
        pages_.set_listener(std::move(listener));
        listen_in_arenas();
    }
    /// Returns how many links in the tree of free runs were followed since the constructor, for tests of complexity.
    [[nodiscard]] std::uint64_t tree_step_count() const { return runs_.tree().step_count(); }

private:
    [[nodiscard, gnu::noinline]] void* allocate_other(std::size_t bytes, std::size_t alignment);
    [[nodiscard]] void* allocate_large(std::size_t bytes, std::size_t alignment);
    void deallocate_large(void* address, std::size_t bytes);
    [[nodiscard]] bool free_pages(const void* address, std::size_t bytes);
    [[gnu::cold]] void refuse(const void* address, std::size_t bytes, const char* when) const;

    void mark_large(std::uint32_t page, std::uint32_t page_count);
    void unmark_large(std::uint32_t page, std::uint32_t page_count);
    [[nodiscard]] std::optional<block> large_block_of(std::uint32_t page) const;
    [[nodiscard]] std::uint32_t first_page_of_large(std::uint32_t page) const;
    [[nodiscard]] bool was_given_back(const block& of) const;
    [[nodiscard]] block block_of(slabs::extent at) const { return {pages_.base() + at.offset, at.bytes}; }
    struct arena;
    [[nodiscard]] const arena* arena_around(std::uint64_t page) const;
    [[nodiscard]] result<void> find_arenas();
    [[nodiscard]] result<void> check_arena(std::uint32_t page) const;
    [[nodiscard]] result<void> open_arena(std::uint32_t page);
    [[nodiscard]] std::uint64_t make_planes_zero(const format::arena_header& of, std::uint64_t end) const;
    void make_zero(std::uint64_t offset, std::uint64_t bytes) const;
    void flush_arenas();
    void release_empty_slabs_of_arenas();
    [[nodiscard, gnu::noinline]] bool deallocate_in_arena(void* address, std::size_t bytes, std::size_t alignment);
    std::size_t check_arenas(const problem_callback& report) const;
    void listen_in_arenas();
    [[nodiscard]] std::uint64_t own_allocated_bytes() const;
    [[nodiscard]] result<void> check_sections();
    [[nodiscard]] result<void> check_links() const;
    [[nodiscard]] unexpected corrupt(std::uint64_t offset, const char* what) const;

    heap_pages pages_;
    returned_blocks returned_;
    magazines kept_;
    page_runs runs_;
    slabs slabs_;
    std::vector<std::unique_ptr<arena>> arenas_;
};

} // namespace remanence::alloc
