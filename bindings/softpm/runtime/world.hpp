// The program's threads, which stand while a persistence point is taken. Depends on the operating system.
//
//   W1  No thread stands within a critical section. All of the malloc family is one, the C library's too; so a point may call malloc
//       while the others stand.
//   W2  Threads that the library itself starts are not stopped.
#pragma once

#include <csignal>
#include <string>

namespace remanence::softpm {

/// While one lives, this thread is not stopped: it stops at the end of the outermost one.
class critical_section {
public:
    critical_section() noexcept;
    critical_section(const critical_section&) = delete;
    critical_section& operator=(const critical_section&) = delete;
    ~critical_section();
};

/// The others stand from its construction, in a critical section, to its end; signals of this thread wait, but for faults. Throws std::runtime_error, and nobody stands, when a
/// thread does not stop within seconds, naming it: one that blocks all signals by itself, or waits in the kernel uninterruptibly.
class stopped_world {
public:
    stopped_world();
    stopped_world(const stopped_world&) = delete;
    stopped_world& operator=(const stopped_world&) = delete;
    ~stopped_world();
    /// Ends it early.
    void go_on();

private:
    bool is_stopped_ = false;
    sigset_t signals_before_ = {}; // that this thread blocked
};

/// While one lives, threads that this thread starts are the library's (W2).
class library_call {
public:
    library_call() noexcept;
    library_call(const library_call&) = delete;
    library_call& operator=(const library_call&) = delete;
    ~library_call();
};

} // namespace remanence::softpm
