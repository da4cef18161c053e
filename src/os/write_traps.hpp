// The handler of SIGSEGV that lets somebody resolve a write to a protected page. It is the process's, as that of
// SIGBUS in fault_handler.hpp is, and passes on what is not ours.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>

namespace remanence::os {

class write_trap {
public:
    /// In the handler, with no lock of the library held by the thread: makes the page of `address` writable. False: it is
    /// not its business. Async-signal-safe, and called by several threads at once.
    virtual bool on_write(std::byte* address) noexcept = 0;

protected:
    ~write_trap() = default;
};

/// Who resolves writes to [base, base+bytes), in whole k_base_alignment: nobody if null. After put_write_traps_in_front().
void set_write_trap(const std::byte* base, std::uint64_t bytes, write_trap* trap) noexcept;

/// Says on standard error what a fault that nobody resolves is about, if it is in memory of ours. Called in the handler, before the
/// handler that was there has the fault.
using fault_explainer = void (*)(const void* address, bool is_write);
/// The process's; it stays.
void explain_faults(fault_explainer explain) noexcept;

/// Puts our handler before the one that is there, unless it is ours; that one gets all other faults. To be repeated now
/// and then, since a handler that is installed later may not pass on what is ours. Cheap.
result<void> put_write_traps_in_front();

/// On standard error. Async-signal-safe.
void say(const char* text) noexcept;
void say_hexadecimal(std::uint64_t value) noexcept;
/// The calls that led here, on standard error; in a handler of a signal, too, once put_write_traps_in_front() was called.
void say_backtrace() noexcept;

} // namespace remanence::os
