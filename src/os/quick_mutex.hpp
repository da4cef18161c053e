// A mutex for what takes some ten nanoseconds and is done millions of times: half of what std::mutex costs where nobody else
// wants it, since unlocking is a plain store. Depends on the standard library only.
#pragma once

#include <atomic>
#include <cstdint>

namespace remanence::os {

/// Each thread has one, and its address is the thread's name in locks.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local char t_name_in_locks;

/// Lockable, not recursive. Who waits long sleeps, and is woken; but since unlock() does not wait until its store is seen by all, it
/// may miss somebody who has just gone to sleep. So whoever sleeps looks after a millisecond, then after two, and so on up to 64. Not
/// fair.
class quick_mutex {
public:
    void lock() noexcept {
        if (!try_to_take()) [[unlikely]]
            wait_and_lock();
    }
    [[nodiscard]] bool try_lock() noexcept {
        return owner_.load(std::memory_order_relaxed) == k_nobody && try_to_take();
    }
    /// Unless this thread has it: a handler that forks may have interrupted what it does there, and that goes on, in the child, too.
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

    /// Odd: neither half of it is 0.
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
    bool stays_locked_ = false; // of the fork that is under way
};

} // namespace remanence::os
