// What the process says of a fault in memory of a heap before it dies of it.
#pragma once

namespace remanence::detail {

/// Says on standard error where a write outside any write section went to and came from. Called in a handler of a signal
/// of which the process dies.
void report_stray_write(const void* address);

/// Says on standard error what a fault in memory of a heap that is read-only, or closed, is about. Async-signal-safe.
void report_fault(const void* address, bool is_write);

} // namespace remanence::detail
