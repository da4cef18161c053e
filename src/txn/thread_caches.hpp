// What the memory of a heap asks of its thread caches: slabs and returned blocks of threads that share an allocator, so that each needs the
// allocator's lock once for many small blocks. They are a part (parts.hpp), which slab_caches.hpp has, with its rules.
#pragma once

#include "alloc/block_allocator.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace remanence::txn {

class thread_caches {
public:
    thread_caches() = default;
    thread_caches(const thread_caches&) = delete;
    thread_caches& operator=(const thread_caches&) = delete;
    virtual ~thread_caches() = default;

    // For threads that do not hold the allocator's lock.

    [[nodiscard]] bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
    /// Whether a thread cache takes part in such a request, or in freeing such a block.
    [[nodiscard]] static bool serves(std::size_t bytes, std::size_t alignment) {
        return bytes <= k_bytes_max && alignment <= alloc::k_line_granules * alloc::k_granule_bytes;
    }
    /// Null: refill() is due.
    [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
    /// False, and nothing was done: free_returned() is due, or it is no block, which free() tells.
    [[nodiscard]] virtual bool deallocate(void* address, std::size_t bytes) = 0;
    /// For a handler of a signal: whether no thread is in a thread cache.
    [[nodiscard]] virtual bool is_quiet() = 0;

    // For who holds the lock.

    /// Thread caches are worth it until settle().
    void turn_on() { is_on_.store(true, std::memory_order_relaxed); }
    /// A thread has waited for the lock: turns them on, unless there was no slab to lend lately.
    virtual void note_wait() = 0;
    /// How many slabs were lent, ever.
    [[nodiscard]] virtual std::uint64_t lent_count() const = 0;
    /// Lends this thread's thread cache another slab, and allocates there. Null when there is none to lend: settle() is due, and thread caches stay off for a
    /// while.
    [[nodiscard]] virtual void* refill(std::size_t bytes, std::size_t alignment) = 0;
    /// How many blocks this thread's thread cache handed out and took back since this was asked last.
    [[nodiscard]] virtual std::uint64_t take_block_count() = 0;
    /// Frees what this thread's thread cache was given back.
    virtual void free_returned() = 0;

    /// Whether some thread cache may have something. Not: the allocator has all, and what follows need not be called.
    [[nodiscard]] bool is_used() const { return is_used_.load(std::memory_order_relaxed); }
    /// Frees a block that may lie in a lent slab. Aborts as block_allocator::deallocate() does.
    virtual void free(void* address, std::size_t bytes, std::size_t alignment) = 0;
    /// block_allocator::block_of(), with slabs lent.
    [[nodiscard]] virtual std::optional<alloc::block> block_of(const void* address) = 0;
    /// Gives everything to the allocator, and turns thread caches off. Whether there was anything.
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

protected:
    static constexpr std::size_t k_bytes_max = KiB; // larger ones would use up a slab soon
    void note_use() { is_used_.store(true, std::memory_order_relaxed); }

private:
    virtual bool take_all_back() = 0;
    virtual void forget_all() = 0;

    std::atomic<bool> is_on_ = false;
    std::atomic<bool> is_used_ = false; // since settle()
};

/// Makes the thread caches of an allocator, which must outlive them.
using thread_cache_maker = std::unique_ptr<thread_caches> (*)(alloc::block_allocator& of);

} // namespace remanence::txn
