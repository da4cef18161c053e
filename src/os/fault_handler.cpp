#include "os/fault_handler.hpp"

#include "os/cancellation.hpp"
#include "os/signal_chain.hpp"
#include "os/write_traps.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace remanence::os {

namespace {

std::atomic<fault_locator> locate_fault = nullptr; // set before the handler is installed

// Used since snprintf() is not async-signal-safe.
void say_number(std::uint64_t value) {
    char digits[24];
    char* at = digits + sizeof digits;
    *--at = '\0';
    do {
        *--at = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value != 0);
    say(at);
}

void on_bus_error(int signal, siginfo_t* info, void* context);
constinit signal_chain bus_errors(SIGBUS, on_bus_error);

void on_bus_error(int signal, siginfo_t* info, void* context) {
    const int code = errno;
    const bool is_fault = info->si_code > 0; // otherwise a process sent the signal, and there is no address
    if (fault_place place{}; is_fault && !signal_chain::is_back(*info) && locate_fault.load()(info->si_addr, place)) {
        const no_cancellation saying;
        say("remanence: cannot read the heap ");
        say(place.path);
        say(" at heap offset ");
        say_number(place.offset);
        say(": the device failed, or another program truncated the file. What was committed is in the file as "
            "far as the device keeps it.\n");
    }
    bus_errors.pass_on(signal, info, context);
    errno = code;
}

} // namespace

result<void> put_fault_handler_in_front(fault_locator locate) {
    locate_fault = locate;
    sigset_t blocked;
    ::sigemptyset(&blocked);
    return bus_errors.put_in_front(blocked);
}

} // namespace remanence::os
