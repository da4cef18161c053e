// pthread_cancel() and the library: cancelling a thread in the middle of a commit would leave the commit half done.
#pragma once

namespace remanence::os {

/// Defers cancellation of the calling thread while it lives. Nests.
class no_cancellation {
public:
    no_cancellation() noexcept;
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;
    ~no_cancellation();

private:
    int before_ = 0;
};

/// Ends the calling thread if pthread_cancel() asked for it and cancellation is enabled: by unwinding through all
/// destructors.
void end_if_cancelled();

} // namespace remanence::os
