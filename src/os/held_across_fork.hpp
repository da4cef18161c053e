// A forked child has only the thread that forked, so what another thread had locked would stay locked. Depends on the
// standard library and POSIX only.
#pragma once

#include <mutex>

#include <pthread.h>

namespace remanence::os {

/// A static object beside the mutex. fork() waits for the mutex, so the child finds it free, and what it guards
/// consistent. A thread that holds it must neither fork nor lock another such mutex. It is made when the program
/// starts: at the first use another thread could fork meanwhile. Without memory for it, the mutex is not held across
/// forks. std::shared_mutex would not work: it remembers its thread, and the child's thread is another one.
template <std::mutex& Mutex>
class held_across_fork {
public:
    held_across_fork() noexcept {
        static_cast<void>(::pthread_atfork([] { Mutex.lock(); }, [] { Mutex.unlock(); }, [] { Mutex.unlock(); }));
    }
};

} // namespace remanence::os
