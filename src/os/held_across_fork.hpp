// A forked child has only the thread that forked: what another one had locked would stay locked there. Depends on the standard
// library and POSIX only.
#pragma once

#include <mutex>

#include <pthread.h>

namespace remanence::os {

/// A static object beside the mutex: fork() waits for it, and the child finds it free and what it guards whole. Whoever
/// holds it must neither fork nor lock another such mutex. Made when the program starts: at the first use, another thread's
/// fork could come in between. Without memory for that the mutex stays as it was. A std::shared_mutex would not do: it
/// remembers which thread has it, and that of the child is another one.
template <std::mutex& Mutex>
class held_across_fork {
public:
    held_across_fork() noexcept {
        static_cast<void>(::pthread_atfork([] { Mutex.lock(); }, [] { Mutex.unlock(); }, [] { Mutex.unlock(); }));
    }
};

} // namespace remanence::os
