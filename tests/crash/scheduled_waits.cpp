// Where a thread waits for another: the library's references to these functions lead here (the linker's --wrap), so that a
// scheduler lets the other one go on. Threads of no scheduler wait as ever.
#include "testing/seeded_scheduler.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <cerrno>
#include <ctime>

using remanence::simulation::seeded_scheduler;

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the linker's names

extern "C" int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
extern "C" int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
    for (;;) {
        const int tried = ::pthread_mutex_trylock(mutex);
        if (tried != EBUSY)
            return tried;
        if (!seeded_scheduler::let_others_go_on("waits for a lock"))
            return __real_pthread_mutex_lock(mutex);
    }
}

// std::atomic::wait() and os::turn, which look at the value again.
extern "C" long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
extern "C" long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const long command = b & FUTEX_CMD_MASK;
    const bool waits = number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
    if (!waits || !seeded_scheduler::let_others_go_on("waits for an atomic to change"))
        return __real_syscall(number, a, b, c, d, e, f);
    errno = EAGAIN;
    return -1;
}

// Who writes to memory that is being replaced, in a signal handler.
extern "C" int __real_nanosleep(const timespec* asked, timespec* left);
extern "C" int __wrap_nanosleep(const timespec* asked, timespec* left) {
    return seeded_scheduler::let_others_go_on("sleeps") ? 0 : __real_nanosleep(asked, left);
}

// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
