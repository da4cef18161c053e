#include "os/quick_mutex.hpp"

#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace remanence::os {

namespace {

constexpr int k_looks_before_sleep = 100; // some microseconds, many times what is done under such a mutex
// A thousand threads that look each millisecond would keep the one that has the lock from running.
constexpr long k_first_sleep_ns = 1'000'000;
constexpr long k_last_sleep_ns = 64 * k_first_sleep_ns;

void rest_a_little() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

std::uint32_t* word(std::atomic<std::uint32_t>& state) noexcept {
    static_assert(sizeof state == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
    return reinterpret_cast<std::uint32_t*>(&state);
}

} // namespace

void quick_mutex::wait_and_lock() noexcept {
    for (int i = 0; i != k_looks_before_sleep; ++i) {
        rest_a_little();
        if (try_lock())
            return;
    }
    const int kept = errno; // who frees memory expects it to stay
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    timespec sleep{0, k_first_sleep_ns};
    while (!try_lock()) { // whatever ended the sleep
        (void)::syscall(SYS_futex, word(state_), FUTEX_WAIT_PRIVATE, k_taken, &sleep, nullptr, 0);
        if (sleep.tv_nsec < k_last_sleep_ns)
            sleep.tv_nsec *= 2;
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    errno = kept;
}

void quick_mutex::wake_one() noexcept {
    const int kept = errno;
    (void)::syscall(SYS_futex, word(state_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    errno = kept;
}

} // namespace remanence::os
