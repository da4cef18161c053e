// A handler of the library's for a signal, in front of the one that the program has: what is not ours goes to that
// one, and ours stays. One for SIGSEGV (write_traps.cpp), one for SIGBUS (fault_handler.cpp).
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <csignal>

namespace remanence::os {

/// A static object.
class signal_chain {
public:
    using handler = void (*)(int signal, siginfo_t* info, void* context);
    constexpr signal_chain(int signal, handler ours) : signal_(signal), ours_(ours) {}

    /// Puts our handler before the one that is there, unless it is ours; `blocked` are the signals that wait while it runs.
    /// Runs on the alternate stack of a thread that has one. From any thread, but in no handler. Cheap when it is there.
    result<void> put_in_front(const sigset_t& blocked);
    /// In our handler: lets the handler that was there before have the signal, with the signals blocked that it asked for. When
    /// there is none, the process dies of the signal as it would have without us: of a fault when our handler returns and the
    /// access is repeated, at once if the signal was sent.
    void pass_on(int signal, siginfo_t* info, void* context) noexcept;
    /// Whether the signal was passed on by us already, and the program's handler has called ours in its turn.
    [[nodiscard]] static bool is_back(const siginfo_t& info);

private:
    [[nodiscard]] bool is_in_front() const;

    int signal_;
    handler ours_;
    // What was there before ours. Never freed, since a handler may be using it.
    std::atomic<const struct sigaction*> previous_{nullptr};
    std::atomic<const struct sigaction*> first_{nullptr};
};

} // namespace remanence::os
