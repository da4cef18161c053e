// A mutex that costs next to nothing while the process has one thread. Depends on the C library's knowledge of that.
#pragma once

#include <sys/single_threaded.h>

#include <atomic>
#include <cstdint>

namespace remanence::os {

/// Not recursive. A process with one thread needs no atomic instructions, nor calls; when there are more, those who wait sleep.
/// A thread that is started meanwhile finds it held.
class lone_mutex {
public:
    void lock() {
        if (!try_lock()) [[unlikely]] {
            while (state_.exchange(k_awaited, std::memory_order_acquire) != k_free)
                state_.wait(k_awaited, std::memory_order_relaxed);
        }
    }
    [[nodiscard]] bool try_lock() {
        std::uint32_t before = state_.load(std::memory_order_relaxed);
        if (before != k_free)
            return false;
        if (is_lone())
            state_.store(k_held, std::memory_order_relaxed);
        else
            return state_.compare_exchange_strong(before, k_held, std::memory_order_acquire);
        return true;
    }
    void unlock() {
        if (is_lone())
            state_.store(k_free, std::memory_order_relaxed);
        else if (state_.exchange(k_free, std::memory_order_release) == k_awaited)
            state_.notify_one();
    }

private:
    static constexpr std::uint32_t k_free = 0;
    static constexpr std::uint32_t k_held = 1;
    static constexpr std::uint32_t k_awaited = 2; // held, and perhaps somebody waits

    [[nodiscard]] static bool is_lone() { return __libc_single_threaded != 0; }

    std::atomic<std::uint32_t> state_ = k_free;
};

} // namespace remanence::os
