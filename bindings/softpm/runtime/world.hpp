// The program's threads, which are stopped while a persistence point is taken. Depends on the operating system.
//
//   W1  No thread is stopped inside a critical section. All functions of the malloc family are critical sections,
//       including the C library's. So a point may call malloc while the other threads are stopped.
//   W2  Threads that the library itself starts are not stopped.
#pragma once

#include <csignal>
#include <string>

namespace remanence::softpm {

/// While one exists, this thread is not stopped: it stops at the end of the outermost one.
class critical_section {
public:
    critical_section() noexcept;
    critical_section(const critical_section&) = delete;
    critical_section& operator=(const critical_section&) = delete;
    ~critical_section();
};

/// Stops all other threads from its construction, in a critical section, to its end. Signals of this thread wait,
/// except faults. Throws std::runtime_error, and stops no thread, if a thread does not stop within seconds; names that
/// thread: it blocks all signals by itself, or waits in the kernel uninterruptibly.
class stopped_world {
public:
    stopped_world();
    stopped_world(const stopped_world&) = delete;
    stopped_world& operator=(const stopped_world&) = delete;
    ~stopped_world();
    /// Lets the threads continue before its end.
    void go_on();

private:
    bool is_stopped_ = false;
    sigset_t signals_before_ = {}; // the signals that this thread blocked before
};

/// While one exists, threads that this thread starts belong to the library (W2).
class library_call {
public:
    library_call() noexcept;
    library_call(const library_call&) = delete;
    library_call& operator=(const library_call&) = delete;
    ~library_call();
};

} // namespace remanence::softpm
