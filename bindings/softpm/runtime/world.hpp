// The program's threads. They are stopped while a persistence point is taken. Depends on the operating system.
//
//   W1  No thread is stopped inside a critical section. All functions of the malloc family, including the C library's,
//       are critical sections. So a point may call malloc while the other threads are stopped.
//   W2  Threads that the library itself starts are not stopped.
#pragma once

#include <csignal>
#include <string>

namespace remanence::softpm {

/// While such an object exists, its thread is not stopped. The thread stops when the outermost one ends.
class critical_section {
public:
    critical_section() noexcept;
    critical_section(const critical_section&) = delete;
    critical_section& operator=(const critical_section&) = delete;
    ~critical_section();
};

/// Stops all other threads while it exists, and is a critical section for its own thread, whose signals wait, except
/// faults. The constructor throws std::runtime_error, and stops no thread, if a thread does not stop within 10 seconds,
/// because it blocks all signals or waits in the kernel uninterruptibly. The message names that thread.
class stopped_world {
public:
    stopped_world();
    stopped_world(const stopped_world&) = delete;
    stopped_world& operator=(const stopped_world&) = delete;
    ~stopped_world();
    /// Lets the threads go on before this object ends.
    void go_on();

private:
    bool is_stopped_ = false;
    sigset_t signals_before_ = {}; // which signals this thread blocked before
};

/// While such an object exists, threads that this thread starts belong to the library (W2).
class library_call {
public:
    library_call() noexcept;
    library_call(const library_call&) = delete;
    library_call& operator=(const library_call&) = delete;
    ~library_call();
};

} // namespace remanence::softpm
