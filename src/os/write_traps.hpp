// The SIGSEGV handler, by which a write_trap resolves a write to a protected page. Like the handler of SIGBUS in
// fault_handler.hpp, there is one for the process, and it passes on faults that are not ours.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>

namespace remanence::os {

class write_trap {
public:
    /// Makes the page of `address` writable. Called in the handler, while the thread holds no lock of the library.
    /// Returns false if this object has not protected that page. Must be async-signal-safe and thread-safe.
    virtual bool on_write(std::byte* address) noexcept = 0;

protected:
    ~write_trap() = default;
};

/// Sets the object that resolves writes to [base, base+bytes), a multiple of k_base_alignment; null means none.
/// put_write_traps_in_front() must be called before.
void set_write_trap(const std::byte* base, std::uint64_t bytes, write_trap* trap) noexcept;

/// Explains, on standard error, a fault in our memory that no write_trap resolves. Called in the handler, before the
/// previous handler gets the fault.
using fault_explainer = void (*)(const void* address, bool is_write);
/// Sets the process's fault_explainer permanently.
void explain_faults(fault_explainer explain) noexcept;

/// Installs our handler in front of the present one, unless ours is the present one. Our handler passes all faults that
/// no write_trap resolves on to the one that it replaced. Must be called repeatedly, since a handler that is installed
/// later may not pass on our faults. Fast.
result<void> put_write_traps_in_front();

/// These write to standard error. Async-signal-safe.
void say(const char* text) noexcept;
void say_hexadecimal(std::uint64_t value) noexcept;
/// Writes the calls that led to this one to standard error. Also works in a signal handler, after
/// put_write_traps_in_front().
void say_backtrace() noexcept;

} // namespace remanence::os
