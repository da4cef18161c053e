// Errors of calls that cannot throw, such as heap::unlock(). Each is kept until the same thread calls the heap again.
#pragma once

namespace remanence::detail {

/// Abstract, so that a program that never unlocks a heap is not linked with the code behind it (locking.cpp).
class late_errors {
public:
    late_errors() = default;
    late_errors(const late_errors&) = delete;
    late_errors& operator=(const late_errors&) = delete;
    virtual ~late_errors() = default;

    /// Keeps the exception that is being handled, for the calling thread. Does nothing if the thread has one already.
    /// Without memory the exception is lost.
    virtual void keep_current() noexcept = 0;
    /// Throws the exception that the calling thread has kept, if there is one, and forgets it.
    virtual void raise_own() = 0;
};

class heap_impl;
/// Says on standard error what the exception that is being handled means for a section that unlock() was to end, and keeps
/// it for the thread's next call. `what_happened` ends in a colon and a space, or is empty.
void tell_late(heap_impl& heap, const char* what_happened) noexcept;

} // namespace remanence::detail
