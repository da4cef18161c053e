// Protects the library from pthread_cancel(): cancelling a thread in the middle of a commit would leave the commit half
// done.
#pragma once

namespace remanence::os {

/// Defers cancellation of the calling thread until allow_cancellation() was called as often. Any order of pairs is right.
void defer_cancellation() noexcept;
/// After the last call, the state is again as it was before the first defer_cancellation().
void allow_cancellation() noexcept;

/// Defers cancellation of the calling thread while this object exists. Can be nested.
class no_cancellation {
public:
    no_cancellation() noexcept { defer_cancellation(); }
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;
    ~no_cancellation() { allow_cancellation(); }
};

/// If pthread_cancel() was called for the calling thread and cancellation is enabled, ends the thread by unwinding
/// through all destructors.
void end_if_cancelled();

} // namespace remanence::os
