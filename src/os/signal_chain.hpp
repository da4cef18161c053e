// A signal handler of the library in front of the program's own: what is not ours goes to that one, and ours stays
// installed. There is one for SIGSEGV (write_traps.cpp) and one for SIGBUS (fault_handler.cpp).
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <csignal>

namespace remanence::os {

/// For static objects.
class signal_chain {
public:
    using handler = void (*)(int signal, siginfo_t* info, void* context);
    constexpr signal_chain(int signal, handler ours) : signal_(signal), ours_(ours) {}

    /// Installs our handler in front of the present one, unless that is ours already. `blocked` are the signals that
    /// wait while it runs. It runs on the thread's alternate stack, if it has one. Thread-safe, but do not call it in a
    /// handler. Cheap if it is installed.
    result<void> put_in_front(const sigset_t& blocked);
    /// Call it in our handler: calls the handler that was there before, with the signals blocked that it asked for.
    /// Without one, the process dies of the signal as it would have without us: of a fault when our handler returns and
    /// the access is repeated, at once if the signal was sent.
    void pass_on(int signal, siginfo_t* info, void* context) noexcept;
    /// True if we have passed the signal on already, and the program's handler has called ours.
    [[nodiscard]] static bool is_back(const siginfo_t& info);

private:
    [[nodiscard]] bool is_in_front() const;

    int signal_;
    handler ours_;
    // The handlers that were there before ours. Never freed, since a handler may be using them.
    std::atomic<const struct sigaction*> previous_{nullptr};
    std::atomic<const struct sigaction*> first_{nullptr};
};

} // namespace remanence::os
