// Protects the library from pthread_cancel(): cancelling a thread in the middle of a commit would leave the commit half
// done.
#pragma once

namespace remanence::os {

/// Defers cancellation of the calling thread. Returns the state before, for set_cancellation().
[[nodiscard]] int defer_cancellation() noexcept;
void set_cancellation(int state) noexcept;

/// Defers cancellation of the calling thread while this object exists. Can be nested.
class no_cancellation {
public:
    no_cancellation() noexcept : before_(defer_cancellation()) {}
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;
    ~no_cancellation() { set_cancellation(before_); }

private:
    int before_;
};

/// If pthread_cancel() was called for the calling thread and cancellation is enabled, ends the thread by unwinding
/// through all destructors.
void end_if_cancelled();

} // namespace remanence::os
