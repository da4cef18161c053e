// Protects mutexes from fork(): a forked child has only the thread that forked, so a mutex that another thread had
// locked would stay locked. Depends on the standard library and POSIX only.
#pragma once

#include <mutex>

#include <pthread.h>

namespace remanence::os {

/// A static object beside the mutex. It makes fork() acquire the mutex, so in the child the mutex is free and what it
/// guards is consistent. A thread that holds the mutex must neither fork nor lock another such mutex. The object is
/// constructed when the program starts, since at the first use another thread could be forking. If there is no memory
/// for it, fork() does not acquire the mutex. std::shared_mutex would not work: it records which thread holds it, and
/// the child's thread is another one.
template <std::mutex& Mutex>
class held_across_fork {
public:
    held_across_fork() noexcept {
        static_cast<void>(::pthread_atfork([] { Mutex.lock(); }, [] { Mutex.unlock(); }, [] { Mutex.unlock(); }));
    }
};

} // namespace remanence::os
