#include "os/quick_mutex.hpp"

#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace remanence::os {

namespace {

constexpr int k_looks_before_sleep = 100; // some microseconds, many times what is done under such a mutex
constexpr timespec k_sleep_max{0, 1'000'000};

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
    while (!try_lock()) // whatever ended the sleep
        (void)::syscall(SYS_futex, word(state_), FUTEX_WAIT_PRIVATE, k_taken, &k_sleep_max, nullptr, 0);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    errno = kept;
}

void quick_mutex::wake_one() noexcept {
    const int kept = errno;
    (void)::syscall(SYS_futex, word(state_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    errno = kept;
}

} // namespace remanence::os
