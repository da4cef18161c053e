// A signal handler of the library in front of the program's own: it passes on each signal that is not ours, and stays
// installed. There is one for SIGSEGV (write_traps.cpp) and one for SIGBUS (fault_handler.cpp).
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <csignal>

namespace remanence::os {

/// Objects must be static.
class signal_chain {
public:
    using handler = void (*)(int signal, siginfo_t* info, void* context);
    constexpr signal_chain(int signal, handler ours) : signal_(signal), ours_(ours) {}

    /// Installs our handler in front of the present one, unless ours is the present one. The signals in `blocked` are
    /// blocked while our handler runs. It runs on the thread's alternate stack, if there is one. Thread-safe, but must
    /// not be called in a handler. Fast if our handler is installed already.
    result<void> put_in_front(const sigset_t& blocked);
    /// Must be called in our handler. Calls the handler that was installed before ours, with the signals blocked that
    /// it was installed with. If there is none, the signal ends the process as it would without us: a fault when our
    /// handler returns and the access is repeated, a signal that was sent at once.
    void pass_on(int signal, siginfo_t* info, void* context) noexcept;
    /// True if this signal was passed on already, and the program's handler has called ours.
    [[nodiscard]] static bool is_back(const siginfo_t& info);

private:
    [[nodiscard]] bool is_in_front() const;

    int signal_;
    handler ours_;
    // The handlers that were installed before ours. Never freed, since a handler may be running with them.
    std::atomic<const struct sigaction*> previous_{nullptr};
    std::atomic<const struct sigaction*> first_{nullptr};
};

} // namespace remanence::os
