// The interface of thread caches, which hold slabs (64 KiB of memory each, for small blocks) and returned blocks
// (freed, but not by the allocator yet) for threads that share an allocator. With them a thread needs the allocator's
// lock only once for many small blocks. This is a part (parts.hpp), implemented by slab_caches.hpp, where its rules
// are.
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
    /// True if thread caches can allocate or free blocks of this size and alignment.
    [[nodiscard]] static bool serves(std::size_t bytes, std::size_t alignment) {
        return bytes <= k_bytes_max && alignment <= alloc::k_line_granules * alloc::k_granule_bytes;
    }
    /// Returns null if refill() is due.
    [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
    /// Returns false, and does nothing, if free_returned() is due or the address is no block. In the second case
    /// free() reports the error.
    [[nodiscard]] virtual bool deallocate(void* address, std::size_t bytes) = 0;
    /// True if no thread is using a thread cache at the moment. For signal handlers.
    [[nodiscard]] virtual bool is_quiet() = 0;

    // Callers hold the allocator's lock.

    /// Turns thread caches on until settle().
    void turn_on() { is_on_.store(true, std::memory_order_relaxed); }
    /// Notes that a thread had to wait for the lock. Turns thread caches on, unless lately there was no slab to lend.
    virtual void note_wait() = 0;
    /// Returns how many slabs were ever lent.
    [[nodiscard]] virtual std::uint64_t lent_count() const = 0;
    /// Lends this thread's thread cache another slab, and allocates a block there. Returns null if there is no slab to
    /// lend: then the caller must call settle(), and thread caches stay off for a while.
    [[nodiscard]] virtual void* refill(std::size_t bytes, std::size_t alignment) = 0;
    /// Returns how many blocks this thread's thread cache has allocated and freed since the last call.
    [[nodiscard]] virtual std::uint64_t take_block_count() = 0;
    /// Frees the blocks that this thread's thread cache holds to be freed.
    virtual void free_returned() = 0;

    /// True if a thread cache may hold slabs or blocks. If not, the allocator has all of them, and the functions below
    /// need not be called.
    [[nodiscard]] bool is_used() const { return is_used_.load(std::memory_order_relaxed); }
    /// Frees a block that may lie in a lent slab. Aborts as block_allocator::deallocate() does.
    virtual void free(void* address, std::size_t bytes, std::size_t alignment) = 0;
    /// As block_allocator::block_of(), while slabs are lent.
    [[nodiscard]] virtual std::optional<alloc::block> block_of(const void* address) = 0;
    /// Returns all slabs and blocks to the allocator, and turns thread caches off. Returns whether there were any.
    bool settle() {
        is_on_.store(false, std::memory_order_relaxed);
        return is_used_.exchange(false, std::memory_order_relaxed) && take_all_back();
    }
    /// Forgets all slabs and blocks, since memory has become another state, in which no slab was lent.
    void forget() {
        is_on_.store(false, std::memory_order_relaxed);
        if (is_used_.exchange(false, std::memory_order_relaxed))
            forget_all();
    }

protected:
    static constexpr std::size_t k_bytes_max = KiB; // a slab has room for few larger blocks
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
