// A volatile heap: blocks of any size in anonymous memory, for any number of threads. Small blocks come from slabs,
// which threads own through their thread caches. Slabs and large blocks are runs of pages of the core:
// alloc::block_allocator, which persistent heaps use, too. Depends on thread_cache.hpp, threads.hpp, alloc and os.
// README.md in this folder has the overview.
//
// Nothing here throws, or allocates memory elsewhere, unless its comment says so: a heap may implement malloc().
//
//  V1  A heap has one range of addresses. The blocks come first, at a multiple of 1 GiB. Three tables follow: the slab
//      of each unit (64 KiB of addresses), slab headers, thread caches. The first two are writable at least as far as
//      the blocks are.
//  V2  slab_of_unit_ names the header for each unit of a slab, and is null for all other units. The header is the one
//      of the slab's first unit.
//  V3  lock_ guards the core, vacant thread caches, and the set of slabs. Owners change their own slabs without a lock.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/result.hpp"
#include "os/anonymous_memory.hpp"
#include "os/memory_marks.hpp"
#include "os/quick_mutex.hpp"
#include "volatile/thread_cache.hpp"
#include "volatile/threads.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

namespace remanence::transient {

inline constexpr std::size_t k_alignment_max = alloc::k_alignment_max;

struct heap_options {
    std::uint64_t reserve_bytes = 0; // at most k_heap_bytes_max
    // Reserves addresses only when they are needed, so that they do not count against limits earlier. The heap also
    // does that if too few addresses can be reserved.
    bool holds_no_addresses = false;
    // Prefers addresses that the heap can have in another process, too (os::are_far()).
    bool is_far = false;
    std::byte* base = nullptr; // where the blocks begin, a multiple of 1 GiB; null: anywhere
    placing how = placing::compact;
    std::optional<unsigned> numa_node{};
    int (*make_writable)(std::byte*, std::uint64_t, os::addresses) noexcept = os::make_writable;
};

/// How a heap uses its memory.
struct heap_usage {
    struct size_class {
        std::uint64_t block_bytes;
        std::uint64_t blocks;     // allocated
        std::uint64_t slab_bytes; // address space of the slabs of this size
    };
    std::array<size_class, k_class_count> classes{};
    std::uint64_t large_blocks = 0;
    std::uint64_t large_bytes = 0;
    std::uint64_t usable_bytes = 0; // usable bytes of all blocks
    std::uint64_t peak_bytes = 0;   // most address space that slabs and large blocks ever used; an upper bound
    std::uint64_t free_bytes = 0;   // free blocks of slabs, and free runs of pages that were used before
    double availability = 1;        // alloc/availability.hpp
    std::uint64_t resident_bytes = 0;
    std::uint64_t reserved_bytes = 0;
};

class heap {
public:
    constexpr heap() = default;
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;
    ~heap();

    /// Opens the heap; must be called once, before anything else. Returns 0, or errno; EEXIST if something else lies at
    /// the wanted base.
    [[nodiscard]] int open(const heap_options& options) noexcept;
    [[nodiscard]] bool is_open() const { return base_ != nullptr; }

    /// Allocates a block at a multiple of 16. Returns null if there is no memory. A request for 0 bytes counts as 1
    /// byte. O(1), except when a slab is used up; O(log free runs) for large blocks.
    [[nodiscard]] void* allocate(std::size_t bytes) noexcept {
        const known_thread_cache& known = t_known_thread_caches[number_ % k_known_thread_caches];
        if (bytes <= k_table_bytes_max && known.heap_number == number_ && known.mine != nullptr) [[likely]] {
            const std::uint32_t index = (*known.mine->classes)[(bytes + k_step_bytes - 1) / k_step_bytes];
            void* const got = known.mine->bins[index].take();
            if (got != nullptr) [[likely]]
                return marked(got);
            return marked(allocate_in_next(*known.mine, index));
        }
        return marked(allocate_other(bytes, k_step_bytes));
    }
    /// Like the other allocate(), at a multiple of `alignment`. Returns null also if the alignment is no power of two,
    /// or more than k_alignment_max.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return alignment <= k_step_bytes && is_power_of_two(alignment) ? allocate(bytes)
                                                                       : marked(allocate_other(bytes, alignment));
    }
    /// Allocates a block of zeros.
    [[nodiscard]] void* allocate_zeros(std::size_t bytes) noexcept;
    /// Frees a block; any thread may call it. If no block of this heap begins there, ends the process with a message
    /// that names the address.
    void free(void* address) noexcept {
        if constexpr (os::k_marks_memory)
            os::mark_freed(address, usable_bytes(address));
        slab* const of = slab_around(address);
        if (of == nullptr) [[unlikely]]
            return free_large(address);
        const std::uint32_t index = of->block_at(address);
        if (index >= of->block_count) [[unlikely]]
            refuse(address, k_inside);
        const known_thread_cache& known = t_known_thread_caches[number_ % k_known_thread_caches];
        if (known.heap_number == number_ && known.mine != nullptr &&
            of->owner.load(std::memory_order_relaxed) == known.mine) [[likely]]
            free_own(*known.mine, *of, index);
        else
            free_other(*of, index);
    }
    /// Changes the size of a block. Its contents are preserved up to the smaller of both sizes; the block may move.
    /// Returns null, and leaves the block unchanged, if there is no memory. Blocks of many pages are moved by changing
    /// page tables: one that grows moves if it must; one that shrinks to less than half moves if it fits into a hole at
    /// a lower address.
    [[nodiscard]] void* reallocate(void* address, std::size_t bytes) noexcept;
    /// Allocates a block that can grow in place to `room_bytes`, and shrink again. The room occupies addresses; it
    /// occupies memory only when it is used. Once the block has grown beyond its room, it is like any other.
    [[nodiscard]] void* allocate_with_room(std::size_t bytes, std::size_t room_bytes) noexcept;
    /// Returns the size of the block that begins there; if there is none, behaves as free() does.
    [[nodiscard]] std::size_t usable_bytes(const void* address) const noexcept;

    /// Returns the block that contains an address; nothing if there is none. The block may be one that another thread
    /// allocates or frees at this moment.
    [[nodiscard]] std::optional<alloc::block> block_of(const void* address) const noexcept;
    [[nodiscard]] bool holds(const void* address) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_) < reserved_bytes_;
    }
    /// Visits all blocks; but of the blocks that other threads allocate or free meanwhile, only some. `visit` must not
    /// use this heap.
    void for_each_block(const std::function<void(alloc::block)>& visit) const;
    /// Compares the tables with each other and with the core's, and calls `report` for each problem. O(pages).
    /// Allocates memory elsewhere. No other thread may use the heap meanwhile.
    std::size_t check_invariants(const alloc::problem_callback& report) const;
    [[nodiscard]] heap_usage usage() const;

    /// Gives memory without blocks back to the system.
    void trim() noexcept;

    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] std::uint64_t reserved_bytes() const { return reserved_bytes_; }

    // --- for a heap whose blocks come from elsewhere, before anything was allocated in it (loading.cpp)

    /// Makes the first `bytes` bytes behind the base accessible, for adopt(). Returns 0, or errno.
    [[nodiscard]] int make_room(std::uint64_t bytes) noexcept;
    /// Takes over the blocks of another core, which has this state. The caller has copied that core's memory, from the
    /// second page on, into the room. Fails with errc::corrupt if the state contradicts itself, with errc::not_supported
    /// if no such block could be allocated today. Allocates memory elsewhere. O(pages).
    [[nodiscard]] result<void> adopt(const format::alloc_state& state);

    // --- for threads.cpp

    [[nodiscard]] std::uint64_t number() const { return number_; }
    /// True if the address ranges of the two heaps overlap, whether or not the heaps hold them.
    [[nodiscard]] bool overlaps(const heap& other) const noexcept;
    [[nodiscard]] os::quick_mutex& lock() { return lock_; }
    [[nodiscard]] heap* next_registered() const { return next_registered_; }
    void set_next_registered(heap* next) { next_registered_ = next; }
    /// Returns a vacant thread cache, or makes one; null if there is no memory.
    [[nodiscard]] thread_cache* take_thread_cache() noexcept;
    [[nodiscard]] bool has_vacant_thread_cache() const noexcept;
    /// Makes a thread cache vacant: take_thread_cache() may return it to another thread.
    void leave(thread_cache& of) noexcept;
    template <class F>
    void for_each_thread_cache(const F& f) {
        for (std::uint32_t i = 0; i != thread_cache_count_; ++i)
            f(thread_caches_[i]);
    }

private:
    static constexpr const char* k_inside = "free() or realloc() of an address at which no block begins";
    static constexpr const char* k_foreign =
        "free() or realloc() of an address at which no block begins: freed already, or never "
        "allocated here, or of a heap that is closed";
    static constexpr const char* k_twice = "free() or realloc() of a block that was freed already";

    [[nodiscard]] thread_cache* thread_cache_of_this_thread() noexcept {
        thread_cache* const known = known_thread_cache_of_this_thread();
        return known != nullptr ? known : find_or_take_thread_cache(*this);
    }
    [[nodiscard]] thread_cache* known_thread_cache_of_this_thread() const noexcept {
        const known_thread_cache& known = t_known_thread_caches[number_ % k_known_thread_caches];
        return known.heap_number == number_ ? known.mine : find_thread_cache(number_);
    }
    /// Tells the memory checker of a newly allocated block, before any thread writes to it.
    [[nodiscard]] void* marked(void* got) const noexcept {
        if constexpr (os::k_marks_memory) {
            if (got != nullptr)
                os::mark_allocated(got, usable_bytes(got));
        }
        return got;
    }
    [[nodiscard]] slab* slab_around(const void* address) const {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_);
        return offset < accessible_bytes_.load(std::memory_order_relaxed)
                   ? slab_of_unit_[offset / k_unit_bytes].load(std::memory_order_acquire)
                   : nullptr;
    }

    [[nodiscard, gnu::noinline]] void* allocate_in_next(thread_cache& mine, std::uint32_t index) noexcept;
    [[nodiscard, gnu::noinline]] void* allocate_other(std::size_t bytes, std::size_t alignment) noexcept;
    [[nodiscard]] bool acquire_slab(thread_cache& mine, std::uint32_t index) noexcept;
    [[nodiscard]] bool take_from_vacant(thread_cache& mine, std::uint32_t index) noexcept;
    [[nodiscard]] slab* make_slab(std::uint32_t index) noexcept;
    void release_idle(thread_cache& of) noexcept;
    void take_out_of_list_or_keep(thread_cache& mine, slab& of, slab*& released) noexcept;
    struct pages {
        std::byte* start; // null: there was no memory
        bool are_zero;    // true if they are certainly zero
    };
    [[nodiscard]] pages take_pages(std::uint64_t bytes, std::uint64_t alignment) noexcept;
    [[nodiscard]] pages take_pages_locked(std::uint64_t bytes, std::uint64_t alignment) noexcept;
    void append_vacant(thread_cache& of) noexcept;
    [[nodiscard]] const format::alloc_state& core_state() const {
        return *reinterpret_cast<const format::alloc_state*>(base_);
    }
    void collect_told(thread_cache& of, bool is_locked) noexcept;

    void free_own(thread_cache& mine, slab& of, std::uint32_t index) noexcept {
        const std::uint32_t in = index / slab::k_word_bits;
        slab::word& word = of.words[in];
        const std::uint64_t bit = std::uint64_t{1} << index % slab::k_word_bits;
        const std::uint64_t free = word.free.load(std::memory_order_relaxed);
        if (((free | word.returned.load(std::memory_order_relaxed)) & bit) != 0) [[unlikely]]
            refuse(of.block(index), k_twice);
        word.free.store(free | bit, std::memory_order_relaxed);
        if ((of.filled >> in & 1U) == 0 || (free | bit) == of.whole_word(in)) [[unlikely]]
            note_freed(mine, of, in);
    }
    [[gnu::noinline]] void note_freed(thread_cache& mine, slab& of, std::uint32_t in) noexcept;
    void word_is_idle(thread_cache& mine, slab& of, std::uint32_t in) noexcept;
    [[gnu::noinline]] void free_other(slab& of, std::uint32_t index) noexcept;
    [[gnu::noinline]] void free_large(void* address) noexcept;
    void give_back(slab& of) noexcept;
    void note_given_back(std::uint64_t bytes) noexcept;
    [[nodiscard]] bool move_pages(std::byte* from, std::byte* to, std::uint64_t bytes) noexcept;
    [[nodiscard]] bool renew(std::byte* where, std::uint64_t bytes) noexcept;
    void trim_locked() noexcept;
    void give_headers_back(heap_range of_free) noexcept;
    [[noreturn, gnu::cold]] static void refuse(const void* address, const char* what) noexcept;

    [[nodiscard]] void* reallocate_large(void* address, std::size_t old_bytes, std::size_t bytes) noexcept;
    [[nodiscard]] void* move_into_hole(void* address, std::size_t old_bytes, std::size_t bytes) noexcept;
    [[nodiscard]] bool keeps_room(const void* address) const noexcept;
    [[nodiscard]] void* move_block(void* address, std::size_t old_bytes, std::size_t bytes) noexcept;
    /// A part of the range: the blocks, or a table.
    struct part {
        std::byte* start = nullptr;
        std::uint64_t writable_bytes = 0;
    };
    void lay_out(std::byte* range) noexcept;
    [[nodiscard]] int open_with_addresses() noexcept;
    [[nodiscard]] int open_in(std::byte* range) noexcept;
    [[nodiscard]] int open_without_addresses() noexcept;
    [[nodiscard]] int start_core() noexcept;
    void release_range() noexcept;
    [[nodiscard]] int grow(part& which, std::uint64_t bytes) noexcept;
    [[nodiscard]] int make_accessible(std::uint64_t end) noexcept;
    [[nodiscard]] std::optional<alloc::block> large_block_of(const void* address) const noexcept;
    [[nodiscard]] slab* header_of(const std::byte* start) const {
        return &slabs_[static_cast<std::uint64_t>(start - base_) / k_unit_bytes];
    }
    void check_slab(const slab& of, const std::function<void(const void*, const char*)>& wrong) const;

    std::byte* base_ = nullptr;
    std::uint64_t number_ = 0;
    std::atomic<slab*>* slab_of_unit_ = nullptr;
    std::atomic<std::uint64_t> accessible_bytes_ = 0;
    std::atomic<bool> has_tellers_ = false; // a thread has freed a block of another thread's slab

    slab* slabs_ = nullptr;
    thread_cache* thread_caches_ = nullptr;
    std::uint64_t reserved_bytes_ = 0; // addresses for blocks
    part blocks_;
    part units_table_; // slab_of_unit_
    part slabs_table_;
    part thread_caches_table_;
    placing how_ = placing::compact;
    bool is_far_ = false;
    os::addresses addresses_ = os::addresses::held;
    int (*make_writable_)(std::byte*, std::uint64_t, os::addresses) noexcept = nullptr;
    heap* next_registered_ = nullptr; // guarded by the mutex of threads.cpp

    mutable os::quick_mutex lock_;
    mutable std::optional<alloc::block_allocator> core_;
    std::uint32_t thread_cache_count_ = 0;
    thread_cache* vacant_ = nullptr; // the first of the list of vacant thread caches
    thread_cache* last_vacant_ = nullptr;
    std::uint64_t untouched_ = 0;                         // from this offset on, no memory was ever allocated
    static constexpr std::uint64_t k_trim_min = 32 * MiB; // below this amount nothing is given back to the system
    std::uint64_t free_used_bytes_ = 0;                   // freed since the last trim, and not allocated again
    std::uint64_t next_look_bytes_ = k_trim_min;
    std::uint64_t peak_bytes_ = 0;
    // How many blocks exist whose pages were moved. Each adds at most two mappings (k_moves_max).
    std::uint32_t moved_count_ = 0;
    std::optional<unsigned> numa_node_;
};

} // namespace remanence::transient
