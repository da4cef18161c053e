#include "os/signal_chain.hpp"

#include "os/held_across_fork.hpp"

#include <cerrno>
#include <mutex>
#include <string>
#include <ucontext.h>

namespace remanence::os {

namespace {

// Written to a field of the kernel's report on a fault that is otherwise unused, before the previous handler is called.
// Without this mark, if that handler calls ours, the two would pass the fault to each other for ever.
constexpr int k_passed_on = 0x52454d;

std::mutex installing;
const held_across_fork<installing> k_installing_held;

const struct sigaction k_default{}; // no flags, and SIG_DFL

} // namespace

bool signal_chain::is_in_front() const {
    struct sigaction now{};
    ::sigaction(signal_, nullptr, &now);
    return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == ours_;
}

result<void> signal_chain::put_in_front(const sigset_t& blocked) {
    if (is_in_front())
        return {};
    const std::lock_guard guard(installing);
    if (is_in_front())
        return {};
    struct sigaction now{};
    ::sigaction(signal_, nullptr, &now);
    // Set before our handler is installed, which needs it.
    const auto* before = new struct sigaction(now);
    if (first_.load() == nullptr)
        first_ = before;
    previous_ = before;
    struct sigaction ours{};
    ours.sa_sigaction = ours_;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & SA_RESTART);
    ours.sa_mask = blocked;
    if (::sigaction(signal_, &ours, nullptr) != 0)
        return fail(errc::io, "the handler of signal " + std::to_string(signal_) + " cannot be installed.", {}, errno);
    return {};
}

bool signal_chain::is_back(const siginfo_t& info) { return info.si_errno == k_passed_on; }

void signal_chain::pass_on(int signal, siginfo_t* info, void* context) noexcept {
    auto& link = is_back(*info) ? first_ : previous_;
    const struct sigaction* action = link.load(std::memory_order_acquire);
    if (action == nullptr)
        return;
    const bool is_fault = info->si_code > 0;
    const bool is_default = (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
    const bool is_ignored = (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_IGN;
    if (is_ignored && !is_fault)
        return;
    if (is_default || is_ignored) {
        ::sigaction(signal, action, nullptr); // then the access is repeated under that action
        if (!is_fault)
            ::raise(signal);
        return;
    }
    if ((action->sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
        link.store(&k_default, std::memory_order_release);
    // The signals that the kernel would have blocked for the previous handler.
    sigset_t blocked = static_cast<const ucontext_t*>(context)->uc_sigmask;
    ::sigorset(&blocked, &blocked, &action->sa_mask);
    if ((action->sa_flags & SA_NODEFER) == 0)
        ::sigaddset(&blocked, signal);
    ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    info->si_errno = k_passed_on;
    if ((action->sa_flags & SA_SIGINFO) != 0) {
        action->sa_sigaction(signal, info, context);
    } else {
        action->sa_handler(signal);
    }
}

} // namespace remanence::os
