// A forked child has only the thread that forked: what another one had locked would stay locked there. Depends on the standard
// library and POSIX only.
#pragma once

#include <mutex>

#include <pthread.h>

namespace remanence::os {

/// From the first call on, fork() waits for the mutex, and the child finds it free and what it guards whole. Whoever holds it must not
/// fork. Without memory for that it stays as it was.
template <std::mutex& Mutex>
void hold_across_fork() {
    [[maybe_unused]] static const int done =
        ::pthread_atfork([] { Mutex.lock(); }, [] { Mutex.unlock(); }, [] { Mutex.unlock(); });
}

} // namespace remanence::os
