#include "os/write_traps.hpp"

#include "os/address_table.hpp"
#include "os/cancellation.hpp"
#include "os/signal_chain.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

namespace remanence::os {

namespace {

constinit address_table<write_trap> traps;

std::atomic<fault_explainer> explainer{nullptr};

bool is_write_to_protected_page(const siginfo_t& info, const void* context) {
    if (info.si_code != SEGV_ACCERR)
        return false;
#ifdef __x86_64__
    constexpr greg_t k_write = 2; // in the processor's error code
    return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & k_write) != 0;
#else
    return context != nullptr;
#endif
}

void on_segmentation_fault(int signal, siginfo_t* info, void* context);
constinit signal_chain segmentation_faults(SIGSEGV, on_segmentation_fault);

void on_segmentation_fault(int signal, siginfo_t* info, void* context) {
    const int code = errno;
    const bool is_write = is_write_to_protected_page(*info, context);
    if (is_write) {
        const no_cancellation waiting; // otherwise the program could be unwound from an arbitrary instruction
        write_trap* trap = traps.find(info->si_addr);
        if (trap != nullptr && trap->on_write(static_cast<std::byte*>(info->si_addr))) {
            errno = code;
            return;
        }
    }
    const bool is_of_memory = info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
    if (const fault_explainer explain = explainer; explain != nullptr && is_of_memory && !signal_chain::is_back(*info))
        explain(info->si_addr, is_write);
    segmentation_faults.pass_on(signal, info, context);
    errno = code;
}

} // namespace

void explain_faults(fault_explainer explain) noexcept { explainer = explain; }

void set_write_trap(const std::byte* base, std::uint64_t bytes, write_trap* trap) noexcept {
    traps.set(base, bytes, trap);
}

result<void> put_write_traps_in_front() {
    if (!traps.make())
        return fail(errc::no_memory,
                    "there is no memory for the table of write traps (1 MiB). Free some, and open the heap again.", {},
                    ENOMEM);
    // Loads what say_backtrace() needs. Neither a handler may do that, nor a thread that holds a lock which fork()
    // acquires.
    static std::atomic<bool> is_loaded = false;
    if (!is_loaded.load(std::memory_order_relaxed)) {
        void* unused[1];
        ::backtrace(unused, 1);
        is_loaded.store(true, std::memory_order_relaxed);
    }
    sigset_t blocked;
    ::sigfillset(&blocked);
    ::sigdelset(&blocked, SIGBUS); // reading a kept page may fail
    return segmentation_faults.put_in_front(blocked);
}

void say(const char* text) noexcept {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0)
        return; // nothing more can be done
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
