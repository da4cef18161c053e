// A number that threads of one process wait for. Depends on the standard library only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace remanence::os {

/// Differs from std::atomic's wait() and notify_one(): a thread that waits sleeps at once, without calls of
/// sched_yield() before, and may set a deadline. A forked child may destroy its copy while threads of the parent wait.
class turn {
public:
    using moment = std::optional<std::chrono::steady_clock::time_point>; // none: no limit

    [[nodiscard]] std::uint32_t now() const noexcept { return number_.load(std::memory_order_seq_cst); }
    /// Returns when the number is not `seen`, at the deadline, or spuriously.
    void wait(std::uint32_t seen, const moment& until = {}) noexcept;
    /// Changes the number. Must be followed by wake_one() or wake_all(), perhaps after a lock is released.
    void pass() noexcept { number_.fetch_add(1, std::memory_order_seq_cst); }
    /// Makes no system call if no thread sleeps.
    void wake_one() noexcept { wake(1); }
    void wake_all() noexcept;

private:
    void wake(int count) noexcept;

    std::atomic<std::uint32_t> number_ = 0;
    std::atomic<std::uint32_t> sleepers_ = 0;
};

} // namespace remanence::os
