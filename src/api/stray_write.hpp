// The report before the process dies of a fault in memory of a heap.
#pragma once

namespace remanence::detail {

/// Writes to standard error where a write outside of any write section went to and came from. Called in a signal
/// handler when the process is about to die.
void report_stray_write(const void* address);

/// Writes to standard error the cause of a fault in memory of a heap that is read-only or closed. Async-signal-safe.
void report_fault(const void* address, bool is_write);

} // namespace remanence::detail
