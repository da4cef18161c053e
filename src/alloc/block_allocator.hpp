// The allocator: blocks of any size within [base, base + limit). All of its state lies in that memory, by page index,
// so whatever commits, rolls back or recovers the memory does so with the allocator, which logs nothing and does not
// care where the memory is mapped (I6). Depends on slabs, page_runs and heap_pages. README.md in this folder has
// the overview.
//
// Small blocks come from slabs, large ones are runs of whole pages. Small ones that are given back are freed a few at a time, and
// the smallest of them kept in magazines; of neither the memory says anything.
//
//  B5  From each page of a large block, clearing the lowest set bits of its index one after the other leads to a
//      descriptor that names the block, before any other that is not zero. For this, each first multiple of a power of
//      two inside the block has a mark.
//  B6  What an operation reads through a link and does not fit is damage: damaged() tells where, and from then on
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
    std::size_t bytes; // usable: at least what was asked for
    friend bool operator==(const block&, const block&) = default;
};

enum class block_mark : std::uint8_t {
    none,
    keeps_room, // whatever its contents' size becomes
    was_moved,  // its pages came from elsewhere, so they are a mapping of their own
};

/// Where in the heap something is wrong, and what.
using problem_callback = std::function<void(std::uint64_t offset, std::string_view what)>;

/// Not thread-safe: the caller holds a lock. Alignments are those of offsets in the heap: of addresses as far as the
/// base has them.
class block_allocator {
public:
    /// `base` is at a page boundary, `state` in its first page; [base, base + accessible_bytes) can be read and
    /// written.
    block_allocator(std::byte* base, format::alloc_state& state, extend_callback extend, std::uint64_t limit_bytes,
                    std::uint64_t accessible_bytes);
    ~block_allocator();
    block_allocator(const block_allocator&) = delete;
    block_allocator& operator=(const block_allocator&) = delete;

    /// The state of an empty heap. The memory behind the first page must be zero.
    static void format(format::alloc_state& state);
    /// Validates what can be without a walk, and makes accessible what is in use; to be called after the constructor,
    /// and whenever the memory changed under the allocator. Fails with errc::corrupt and the heap's offset, or as the
    /// callback does. O(bins).
    [[nodiscard]] result<void> check_state();

    /// Null, and no block has changed, when it cannot be met or the alignment is no power of two up to k_alignment_max:
    /// failure() tells why. 0 bytes are 1 byte. O(1) for small blocks but once per slab, O(log free runs) else.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = k_granule_bytes);
    /// A block at just this address. False, and no block has changed, when it is not all free. O(free runs) when no slab is there.
    /// Precondition: no slab is lent.
    [[nodiscard]] bool allocate_at(void* address, std::size_t bytes, std::size_t alignment);
    /// With the size and alignment it was allocated with. A small one may be kept for allocate(): see flush(). Aborts,
    /// naming address and size, when there is no such block: the program is wrong. Of a small one that may be found only by
    /// free_returned(), or by the next allocate() or flush(). O(1) for small blocks but once per slab, O(log free runs) else.
    void deallocate(void* address, std::size_t bytes, std::size_t alignment = k_granule_bytes) {
        if (!arenas_.empty() && deallocate_in_arena(address, bytes, alignment)) [[unlikely]]
            return;
        if (!is_small(bytes, alignment)) [[unlikely]] {
            deallocate_large(address, bytes);
        } else if (returned_.put(address, static_cast<std::uint32_t>(bytes))) [[unlikely]] {
            free_returned();
        }
    }

    /// Makes a large block of so many bytes longer or shorter where it is, with the pages behind it. False, and nothing changed, when
    /// it is none, would become a small one, or those pages are not free. O(log free runs).
    [[nodiscard]] bool resize(void* address, std::size_t bytes, std::size_t new_bytes);

    /// True if a large block of so many bytes would get free pages at a lower address, at which blocks lay before. O(log free runs).
    [[nodiscard]] bool has_hole_before(const void* address, std::size_t bytes);
    /// What is known of a large block, until it is resized or freed. For memory of no file: in a heap's file a mark is damage.
    void set_mark(const void* address, block_mark mark);
    [[nodiscard]] block_mark mark_of(const void* address) const;

    /// Frees what was given back, up to now.
    [[gnu::noinline]] void free_returned();

    /// A slab for a thread that does without the lock, and back (slabs.hpp). Meanwhile check_invariants() finds it missing.
    [[nodiscard]] bool lend(lent_slab& to, std::uint32_t granules, std::uint32_t alignment) {
        free_returned();
        return slabs_.lend(to, granules, alignment);
    }
    void take_back(lent_slab& from) { slabs_.take_back(from); }

    /// What a request for so many bytes really gets; deallocate() takes either size.
    [[nodiscard]] static std::size_t block_bytes(std::size_t bytes, std::size_t alignment = k_granule_bytes);
    /// The allocated block that an address points into. O(log of the block's size).
    [[nodiscard]] std::optional<block> block_of(const void* address) const;
    /// True if no byte of a data page belongs to a block, so that its contents do not matter. What was given back and is kept,
    /// or not freed yet, counts as a block. O(1) in a slab, else O(log of the block's size).
    [[nodiscard]] bool is_free_page(std::uint64_t page) const;
    /// What lies before `end` and in no block, in whole pages, `bytes_min` long or longer; sorted. Slabs in use are left
    /// out, also by blocks that were given back and are kept, or not freed yet. O(log) of free runs for each, and
    /// O(sections).
    [[nodiscard]] std::vector<heap_range> free_stretches(std::uint64_t bytes_min, std::uint64_t end);
    /// Shows each of them, in no order, also when it meets damage. Takes no memory. `visit` changes nothing here.
    void for_each_free_stretch(std::uint64_t bytes_min, std::uint64_t end,
                               const std::function<void(heap_range)>& visit);
    /// All allocated blocks by address. Must not allocate or deallocate meanwhile.
    void for_each_block(const std::function<void(block)>& visit) const;
    [[nodiscard]] std::uint64_t allocated_bytes() const;
    /// How the memory taken is used. Precondition: check_invariants() finds nothing. O(pages + blocks).
    [[nodiscard]] occupancy survey() const;

    // Arenas: large blocks with allocators of their own (arenas.cpp). All functions here that take an address, or tell of blocks, know
    // what is in them. They are found by check_state().

    /// Why make_arena() would refuse these; null: it would not.
    [[nodiscard]] static const char* why_no_arena(std::string_view name, std::uint64_t room_bytes);
    /// Null when there is no memory, or the name is none or taken: failure() tells. Room for at most so many bytes, its metadata
    /// included: a power of two of 1 MiB or more.
    [[nodiscard]] std::byte* make_arena(std::string_view name, std::uint64_t room_bytes,
                                        std::uint64_t resident_limit_bytes);
    /// Null when there is none.
    [[nodiscard]] std::byte* find_arena(std::string_view name) const;
    /// Its allocator; null when no arena begins there.
    [[nodiscard]] block_allocator* arena_at(const void* base);
    /// That an address lies in; null: in none.
    [[nodiscard]] block_allocator* arena_around(const void* address) const;
    /// With all that is in it. O(log free runs).
    void destroy_arena(std::byte* base);
    void for_each_arena(const std::function<void(const format::arena_header&, const block_allocator&)>& visit) const;
    /// Up to where memory was used, from the base: no page behind it was ever written.
    [[nodiscard]] std::uint64_t used_bytes() const;
    [[nodiscard]] std::byte* base() const { return pages_.base(); }

    /// Brings the memory up to date: blocks that were given back, among them those kept for requests of their size, are really
    /// freed (G1, M2). Aborts as deallocate() does. O(1) for each of the few there are.
    void flush() {
        free_returned();
        (void)slabs_.flush();
        if (!arenas_.empty())
            flush_arenas();
    }
    /// Gives back the slab that serves small requests, if it is empty.
    void release_empty_slab() {
        flush();
        slabs_.release_empty();
        release_empty_slabs_of_arenas();
    }

    /// Walks all of the allocator's structures and compares them with each other; returns the number of problems, of
    /// which it reports the first hundred. Changes nothing, whatever it finds. O(pages).
    std::size_t check_invariants(const problem_callback& report) const;

    [[nodiscard]] const std::optional<damage>& damaged() const { return pages_.found_damage(); }
    /// Why the last allocate() returned null.
    [[nodiscard]] unexpected failure() const { return pages_.failure(); }
    void set_accessible(std::uint64_t bytes) { pages_.set_accessible(bytes); }
    /// From now on, and until it is called again, `listener` is told of each place before it is written: those of the
    /// allocator's own structures, and all of every block before it is handed out. Empty: nobody is. It must not throw.
    void set_listener(write_listener listener) {
        pages_.set_listener(std::move(listener));
        listen_in_arenas();
    }
    /// Links followed in the tree of free runs since the constructor, for tests of complexity.
    [[nodiscard]] std::uint64_t tree_step_count() const { return runs_.tree().step_count(); }

private:
    [[nodiscard, gnu::noinline]] void* allocate_other(std::size_t bytes, std::size_t alignment);
    [[nodiscard]] void* allocate_large(std::size_t bytes, std::size_t alignment);
    void deallocate_large(void* address, std::size_t bytes);
    [[nodiscard]] bool free_pages(const void* address, std::size_t bytes);
    [[nodiscard]] bool is_in_slab(const void* address) const;
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
