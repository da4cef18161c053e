// A mutex for operations of some ten nanoseconds that run millions of times. Without contention it takes half as long
// as std::mutex, since unlocking is a plain store. Depends on the standard library only.
#pragma once

#include <atomic>
#include <cstdint>

namespace remanence::os {

/// One variable for each thread; its address identifies the thread in locks.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local char t_name_in_locks;

/// Lockable, not recursive, not fair. A thread that waits long sleeps until it is woken. But unlock() does not wait
/// until its store is visible to all threads, so it may miss a thread that has just gone to sleep. Therefore sleeping
/// threads test again after 1 ms, then after 2 ms, and so on up to 64 ms.
class quick_mutex {
public:
    void lock() noexcept {
        if (!try_to_take()) [[unlikely]]
            wait_and_lock();
    }
    [[nodiscard]] bool try_lock() noexcept {
        return owner_.load(std::memory_order_relaxed) == k_nobody && try_to_take();
    }
    /// Locks unless this thread holds the lock already. It does if it was interrupted by a signal handler that forks;
    /// the interrupted work then continues, in the child, too.
    void lock_before_fork() noexcept {
        stays_locked_ = owner_.load(std::memory_order_relaxed) == this_thread();
        if (!stays_locked_)
            lock();
    }
    void unlock_after_fork() noexcept {
        if (!stays_locked_)
            unlock();
    }
    void unlock() noexcept {
        owner_.store(k_nobody, std::memory_order_release);
        if (sleepers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wake_one();
    }

private:
    static constexpr std::uint64_t k_nobody = 0;

    /// Odd, so that neither half of it is 0.
    [[nodiscard]] static std::uint64_t this_thread() noexcept {
        return reinterpret_cast<std::uint64_t>(&t_name_in_locks) | 1U;
    }
    [[nodiscard]] bool try_to_take() noexcept {
        std::uint64_t expected = k_nobody;
        return owner_.compare_exchange_strong(expected, this_thread(), std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    [[gnu::cold]] void wait_and_lock() noexcept;
    [[gnu::cold]] void wake_one() noexcept;

    std::atomic<std::uint64_t> owner_ = k_nobody;
    std::atomic<std::uint32_t> sleepers_ = 0;
    bool stays_locked_ = false; // during the current fork
};

} // namespace remanence::os
