// A forked child has only the thread that forked: what another one had locked would stay locked there. Depends on the standard
// library and POSIX only.
#pragma once

#include <mutex>

#include <pthread.h>

namespace remanence::os {

/// A static object beside the mutex: fork() waits for it, and the child finds it free and what it guards whole. Whoever holds it must
/// neither fork nor lock another such mutex. Without memory for that it stays as it was. Made when the program starts: made at the
/// first use, another thread's fork could come in between.
template <std::mutex& Mutex>
class held_across_fork {
public:
    held_across_fork() noexcept {
        static_cast<void>(::pthread_atfork([] { Mutex.lock(); }, [] { Mutex.unlock(); }, [] { Mutex.unlock(); }));
    }
};

} // namespace remanence::os
