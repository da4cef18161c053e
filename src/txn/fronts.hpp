// Slabs and returned blocks of threads that share an allocator, so that each needs the allocator's lock once for many small blocks.
// Of this process only. Depends on alloc and os/quick_mutex.
//
// A thread always uses the same front, which it may share with others: there are 16, each with a mutex of its own. So a thread that ends
// leaves nothing that somebody would have to find.
//
//  FN1  The allocator's lock comes before a front's mutex, and a front's before no other. Which slab is lent to a front changes only with
//       both locked.
//  FN2  No block that the allocator keeps (magazines) or has yet to free (returned_blocks) lies in a lent slab: lend() frees them, and
//       what lies in a lent slab is freed by its front.
//  FN3  After settle() all is in the allocator, which is as if there were no fronts. It comes before whatever looks at the allocator as a
//       whole, a commit first of all (M2).
//  FN4  What is given back is freed, and so found to be a block, before anybody gets it (G1).
//  FN5  Until turn_on(), nothing is in any front, and none of the functions is called that are weak symbols.
//
// A program that opens its heaps in C has no fronts, and is smaller by 5 kB: link_fronts(), docs/decisions/footprint.md.
#pragma once

#include "alloc/block_allocator.hpp"
#include "alloc/lent_slab.hpp"
#include "alloc/returned_blocks.hpp"
#include "os/quick_mutex.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace remanence::txn {

class fronts {
public:
    static constexpr std::size_t k_count = 16;

    explicit fronts(alloc::block_allocator& of) : of_(of) {}
    fronts(const fronts&) = delete;
    fronts& operator=(const fronts&) = delete;

    // For threads that do not hold the allocator's lock.

    [[nodiscard]] bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
    /// Whether a front takes part in such a request, or in freeing such a block.
    [[nodiscard]] static bool serves(std::size_t bytes, std::size_t alignment) {
        return bytes <= k_bytes_max && alignment <= alloc::k_line_granules * alloc::k_granule_bytes;
    }
    /// Null: refill() is due.
    [[nodiscard, gnu::weak]] void* allocate(std::size_t bytes, std::size_t alignment);
    /// False, and nothing was done: free_returned() is due, or it is no block, which free() tells.
    [[nodiscard, gnu::weak]] bool deallocate(void* address, std::size_t bytes);
    /// For a handler of a signal: whether no thread is in a front.
    [[nodiscard]] bool is_quiet() { return !is_used_.load(std::memory_order_relaxed) || are_all_quiet(); }

    // For who holds the lock.

    /// Fronts are worth it until settle(). Nothing happens in a program without them.
    void turn_on() { is_on_.store(&number_of_thread != nullptr, std::memory_order_relaxed); }
    /// A thread has waited for the lock: turns them on, unless there was no slab to lend lately.
    void note_wait() {
        if (waits_until_on_ == 0)
            turn_on();
        else
            --waits_until_on_;
    }
    /// How many slabs were lent, ever.
    [[nodiscard]] std::uint64_t lent_count() const { return lent_count_; }
    /// Lends this thread's front another slab, and allocates there. Null when there is none to lend: settle() is due, and fronts stay off for a
    /// while.
    [[nodiscard, gnu::weak]] void* refill(std::size_t bytes, std::size_t alignment);
    /// How many blocks this thread's front handed out and took back since this was asked last.
    [[nodiscard, gnu::weak]] std::uint64_t take_block_count();
    /// Frees what this thread's front was given back.
    [[gnu::weak]] void free_returned();
    /// Frees a block that may lie in a lent slab. Aborts as block_allocator::deallocate() does.
    void free(void* address, std::size_t bytes, std::size_t alignment = alloc::k_granule_bytes) {
        if (is_used_.load(std::memory_order_relaxed)) [[unlikely]]
            free_in_use(address, bytes, alignment);
        else
            of_.deallocate(address, bytes, alignment);
    }
    /// block_allocator::block_of(), with slabs lent.
    [[nodiscard]] std::optional<alloc::block> block_of(const void* address) {
        return is_used_.load(std::memory_order_relaxed) ? block_in_use(address) : of_.block_of(address);
    }
    /// Gives everything to the allocator, and turns fronts off. Whether there was anything.
    bool settle() {
        is_on_.store(false, std::memory_order_relaxed);
        return is_used_.exchange(false, std::memory_order_relaxed) && take_all_back();
    }
    /// The memory has become another one, in which nothing was lent.
    void forget() {
        is_on_.store(false, std::memory_order_relaxed);
        if (is_used_.exchange(false, std::memory_order_relaxed))
            forget_all();
    }

private:
    static constexpr std::size_t k_bytes_max = KiB;         // larger ones would use up a slab soon
    static constexpr std::uint32_t k_waits_until_on = 1024; // so that what a look for a slab costs does not count

    struct alignas(128) front { // two cache lines: processors fetch pairs
        os::quick_mutex mutex;
        alloc::lent_slab slab; // FN1
        alloc::returned_blocks returned;
        std::uint64_t blocks = 0;
    };

    /// The nth thread that comes here has the nth front, and so on in turn.
    [[nodiscard, gnu::weak]] static std::size_t number_of_thread();
    [[nodiscard]] front& mine() { return all_[number_of_thread()]; }
    [[nodiscard]] front* owner_of(const void* address);
    /// Its mutex is locked.
    void take_back(front& of) {
        if (!of.slab.is_none())
            of_.take_back(of.slab);
    }
    bool free_returned(front& of);
    [[nodiscard, gnu::weak]] bool are_all_quiet();
    [[gnu::weak]] void free_in_use(void* address, std::size_t bytes, std::size_t alignment);
    [[nodiscard, gnu::weak]] std::optional<alloc::block> block_in_use(const void* address);
    [[gnu::weak]] bool take_all_back();
    [[gnu::weak]] void forget_all();

    alloc::block_allocator& of_;
    std::atomic<bool> is_on_ = false;
    std::atomic<bool> is_used_ = false; // since settle(): some front may have something
    std::uint64_t lent_count_ = 0;
    std::uint32_t waits_until_on_ = 0;
    std::array<front, k_count> all_;
};

/// Brings the weak functions, and those of heap_memory, into a static program; does nothing.
void link_fronts() noexcept;

} // namespace remanence::txn
