#include "os/quick_mutex.hpp"

#include <bit>
#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace remanence::os {

[[gnu::tls_model("initial-exec")]] constinit thread_local char t_name_in_locks = 0;

namespace {

constexpr int k_looks_before_sleep = 100; // some microseconds, many times as long as such a mutex is held
// Sleeping threads test less and less often: a thousand threads that test each millisecond could keep the owner from
// running.
constexpr long k_first_sleep_ns = 1'000'000;
constexpr long k_last_sleep_ns = 64 * k_first_sleep_ns;

void rest_a_little() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Returns the lower half of the owner word, which is the word that the kernel compares.
std::uint32_t* word(std::atomic<std::uint64_t>& owner) noexcept {
    static_assert(sizeof owner == sizeof(std::uint64_t) && std::atomic<std::uint64_t>::is_always_lock_free);
    return reinterpret_cast<std::uint32_t*>(&owner) + (std::endian::native == std::endian::big ? 1 : 0);
}

} // namespace

void quick_mutex::wait_and_lock() noexcept {
    for (int i = 0; i != k_looks_before_sleep; ++i) {
        rest_a_little();
        if (try_lock())
            return;
    }
    const int kept = errno; // callers that free memory rely on an unchanged errno
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    timespec sleep{0, k_first_sleep_ns};
    while (!try_lock()) { // repeated for whatever reason the sleep ended
        if (const auto other = static_cast<std::uint32_t>(owner_.load(std::memory_order_relaxed)); other != 0)
            (void)::syscall(SYS_futex, word(owner_), FUTEX_WAIT_PRIVATE, other, &sleep, nullptr, 0);
        if (sleep.tv_nsec < k_last_sleep_ns)
            sleep.tv_nsec *= 2;
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    errno = kept;
}

void quick_mutex::wake_one() noexcept {
    const int kept = errno;
    (void)::syscall(SYS_futex, word(owner_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    errno = kept;
}

} // namespace remanence::os
