#include "os/shared_word.hpp"

#include <ctime>
#include <limits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace remanence::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

void wait_on(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
             std::chrono::nanoseconds at_most) noexcept {
    if (at_most <= std::chrono::nanoseconds::zero())
        return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const timespec limit{.tv_sec = static_cast<time_t>(seconds.count()),
                         .tv_nsec = static_cast<long>((at_most - seconds).count())};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

} // namespace remanence::os
