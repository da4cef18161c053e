// A mutex for what takes some ten nanoseconds and is done millions of times: half of what std::mutex costs where nobody else
// wants it, since unlocking is a plain store. Depends on the standard library only.
#pragma once

#include <atomic>
#include <cstdint>

namespace remanence::os {

/// Lockable, not recursive. Who waits long sleeps, and is woken; but since unlock() does not wait until its store is seen by all, it
/// may miss somebody who has just gone to sleep. So whoever sleeps looks after a millisecond, then after two, and so on up to 64. Not
/// fair.
class quick_mutex {
public:
    void lock() noexcept {
        if (!try_to_take()) [[unlikely]]
            wait_and_lock();
    }
    [[nodiscard]] bool try_lock() noexcept { return state_.load(std::memory_order_relaxed) == k_free && try_to_take(); }
    void unlock() noexcept {
        state_.store(k_free, std::memory_order_release);
        if (sleepers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wake_one();
    }

private:
    static constexpr std::uint32_t k_free = 0;
    static constexpr std::uint32_t k_taken = 1;

    [[nodiscard]] bool try_to_take() noexcept { return state_.exchange(k_taken, std::memory_order_acquire) == k_free; }
    [[gnu::cold]] void wait_and_lock() noexcept;
    [[gnu::cold]] void wake_one() noexcept;

    std::atomic<std::uint32_t> state_ = k_free;
    std::atomic<std::uint32_t> sleepers_ = 0;
};

} // namespace remanence::os
