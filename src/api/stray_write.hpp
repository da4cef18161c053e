// Reports a fault in memory of a heap before the process dies of it.
#pragma once

namespace remanence::detail {

/// Reports a write outside of any write section on standard error: the address written, and the code that wrote. Called
/// in a signal handler when the process is about to die.
void report_stray_write(const void* address);

/// Reports on standard error why a heap that is read-only or closed was faulted. Async-signal-safe.
void report_fault(const void* address, bool is_write);

} // namespace remanence::detail
