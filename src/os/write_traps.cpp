#include "os/write_traps.hpp"

#include "base/units.hpp"
#include "os/held_across_fork.hpp"
#include "os/memory.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <execinfo.h>
#include <mutex>
#include <ucontext.h>
#include <unistd.h>

namespace remanence::os {

namespace {

// As the address registry: 1 MiB of zeros that costs memory only where heaps are.
std::array<std::atomic<write_trap*>, k_address_end / k_base_alignment> traps{}; // NOLINT: one handler, one table

// What was there before ours. Never freed, since a handler may be using it.
std::atomic<const struct sigaction*> previous_action{nullptr};
std::atomic<const struct sigaction*> first_action{nullptr};

// Put into what the kernel says of a fault, where it says nothing itself, before the previous handler gets it. When that
// one leads back to ours, the two would pass the fault on for ever.
constexpr int k_passed_on = 0x52454d;

write_trap* trap_of(const void* address) {
    const std::uint64_t slot = reinterpret_cast<std::uint64_t>(address) / k_base_alignment;
    return slot < traps.size() ? traps[slot].load(std::memory_order_acquire) : nullptr;
}

bool is_write_to_protected_page(const siginfo_t& info, const void* context) {
    if (info.si_code != SEGV_ACCERR)
        return false;
#ifdef __x86_64__
    constexpr greg_t k_write = 2; // of the processor's error code
    return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & k_write) != 0;
#else
    return context != nullptr;
#endif
}

void pass_on(const struct sigaction& action, int signal, siginfo_t* info, void* context) {
    const bool is_fault = info->si_code > 0;
    const bool is_default = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
    const bool is_ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    if (is_ignored && !is_fault)
        return;
    if (is_default || is_ignored) {
        ::sigaction(signal, &action, nullptr); // returning repeats the access under it
        if (!is_fault)
            ::raise(signal);
        return;
    }
    // As the kernel would have called it.
    sigset_t blocked = static_cast<const ucontext_t*>(context)->uc_sigmask;
    ::sigorset(&blocked, &blocked, &action.sa_mask);
    if ((action.sa_flags & SA_NODEFER) == 0)
        ::sigaddset(&blocked, signal);
    ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    info->si_errno = k_passed_on;
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, info, context);
    } else {
        action.sa_handler(signal);
    }
}

void on_segmentation_fault(int signal, siginfo_t* info, void* context) {
    const int code = errno;
    if (is_write_to_protected_page(*info, context)) {
        write_trap* trap = trap_of(info->si_addr);
        if (trap != nullptr && trap->on_write(static_cast<std::byte*>(info->si_addr))) {
            errno = code;
            return;
        }
    }
    const bool is_back = info->si_errno == k_passed_on;
    const struct sigaction* action = (is_back ? first_action : previous_action).load(std::memory_order_acquire);
    if (action != nullptr)
        pass_on(*action, signal, info, context);
    errno = code;
}

} // namespace

void set_write_trap(const std::byte* base, std::uint64_t bytes, write_trap* trap) noexcept {
    const std::uint64_t first = reinterpret_cast<std::uint64_t>(base) / k_base_alignment;
    for (std::uint64_t i = 0; i < divide_up(bytes, k_base_alignment); ++i)
        traps[first + i].store(trap, std::memory_order_release);
}

// Of the handler.
static std::mutex installing;
static const held_across_fork<installing> k_installing_held;

result<void> put_write_traps_in_front() {
    struct sigaction now{};
    ::sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_segmentation_fault)
        return {};
    // Loads what it needs, which neither a handler may do nor who has a lock that fork() waits for.
    void* unused[1];
    ::backtrace(unused, 1);
    std::lock_guard guard(installing);
    ::sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_segmentation_fault)
        return {};
    // Known before the handler may need it.
    const auto* before = new struct sigaction(now);
    if (first_action.load() == nullptr)
        first_action = before;
    previous_action = before;
    struct sigaction ours{};
    ours.sa_sigaction = on_segmentation_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigfillset(&ours.sa_mask);
    ::sigdelset(&ours.sa_mask, SIGBUS); // a page that is kept may not be readable
    if (::sigaction(SIGSEGV, &ours, nullptr) != 0)
        return fail(errc::io, "the handler of SIGSEGV cannot be installed. Use another tracker than the trap tier.", {},
                    errno);
    return {};
}

void say(const char* text) noexcept {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0)
        return; // nothing is left to be done about it
}

void say_hexadecimal(std::uint64_t value) noexcept {
    char digits[19];
    char* at = digits + sizeof digits;
    *--at = '\0';
    do {
        *--at = "0123456789abcdef"[value % 16];
        value /= 16;
    } while (value != 0);
    say("0x");
    say(at);
}

void say_backtrace() noexcept {
    std::array<void*, 64> calls{};
    ::backtrace_symbols_fd(calls.data(), ::backtrace(calls.data(), static_cast<int>(calls.size())), STDERR_FILENO);
}

} // namespace remanence::os
