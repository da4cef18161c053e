#include "os/turn.hpp"

#include <cerrno>
#include <ctime>
#include <limits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace remanence::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// FUTEX_WAIT_BITSET takes a moment of CLOCK_MONOTONIC, which is std::chrono::steady_clock.
void turn::wait(std::uint32_t seen, const moment& until) noexcept {
    const int kept = errno;
    timespec limit{};
    if (until) {
        const auto since = until->time_since_epoch();
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
        limit = {.tv_sec = static_cast<time_t>(seconds.count()),
                 .tv_nsec = static_cast<long>(std::chrono::nanoseconds(since - seconds).count())};
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst); // before the kernel compares the number: see wake()
    (void)::syscall(SYS_futex, &number_, FUTEX_WAIT_BITSET_PRIVATE, seen, until ? &limit : nullptr, nullptr,
                    FUTEX_BITSET_MATCH_ANY);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    errno = kept;
}

void turn::wake_all() noexcept { wake(std::numeric_limits<int>::max()); }

// The caller has changed the number. Either this reads the count of a thread that goes to sleep, or that thread's
// comparison in the kernel finds the new number.
void turn::wake(int count) noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) == 0)
        return;
    const int kept = errno;
    (void)::syscall(SYS_futex, &number_, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
    errno = kept;
}

} // namespace remanence::os
