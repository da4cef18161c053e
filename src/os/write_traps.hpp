// The SIGSEGV handler, which lets a write_trap resolve a write to a protected page. Like the handler of SIGBUS in
// fault_handler.hpp, it is the process's, and passes on what is not ours.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>

namespace remanence::os {

class write_trap {
public:
    /// Makes the page of `address` writable. Called in the handler, while the thread holds no lock of the library.
    /// Returns false if the address is not its business. Async-signal-safe and thread-safe.
    virtual bool on_write(std::byte* address) noexcept = 0;

protected:
    ~write_trap() = default;
};

/// Sets what resolves writes to [base, base+bytes), a multiple of k_base_alignment; null: nothing. Call
/// put_write_traps_in_front() first.
void set_write_trap(const std::byte* base, std::uint64_t bytes, write_trap* trap) noexcept;

/// Explains on standard error a fault that nobody resolves, if it is in our memory. Called in the handler, before the
/// previous handler gets the fault.
using fault_explainer = void (*)(const void* address, bool is_write);
/// Sets the process's fault_explainer for good.
void explain_faults(fault_explainer explain) noexcept;

/// Installs our handler in front of the present one, unless that is ours already. The other handler gets all other
/// faults. Call it now and then, since a handler that is installed later may not pass on our faults. Cheap.
result<void> put_write_traps_in_front();

/// Write to standard error. Async-signal-safe.
void say(const char* text) noexcept;
void say_hexadecimal(std::uint64_t value) noexcept;
/// Writes the calls that led here to standard error. Works in a signal handler, too, after put_write_traps_in_front().
void say_backtrace() noexcept;

} // namespace remanence::os
