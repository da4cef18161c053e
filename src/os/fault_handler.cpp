#include "os/fault_handler.hpp"

#include "os/held_across_fork.hpp"

#include <cinttypes>
#include <csignal>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace remanence::os {

namespace {

std::mutex installing_fault_handler;
const held_across_fork<installing_fault_handler> k_installing_fault_handler_held;
fault_locator locate_fault = nullptr; // once the handler is installed
struct sigaction previous_action{};

void put(const char* text) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0)
        return; // nothing is left to be done about it
}

// No snprintf here: it is not async-signal-safe.
void put_number(std::uint64_t value) {
    char digits[24];
    char* at = digits + sizeof digits;
    *--at = '\0';
    do {
        *--at = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put(at);
}

void on_bus_error(int signal, siginfo_t* info, void*) {
    fault_place place{};
    if (locate_fault(info->si_addr, place)) {
        put("remanence: cannot read the heap ");
        put(place.path);
        put(" at heap offset ");
        put_number(place.offset);
        put(": the device failed, or another program truncated the file. The process ends; what was committed is in "
            "the file as far as the "
            "device keeps it.\n");
    }
    ::sigaction(signal, &previous_action, nullptr); // returning repeats the access under the previous action
}

} // namespace

void install_fault_handler(fault_locator locate) {
    const std::lock_guard guard(installing_fault_handler);
    if (locate_fault != nullptr)
        return;
    locate_fault = locate;
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
}

} // namespace remanence::os
