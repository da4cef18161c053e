// pthread_cancel() and the library: a thread that is cancelled in the midst of a commit would leave it half done.
#pragma once

namespace remanence::os {

/// While it lives, the calling thread is not cancelled: what asks for that waits. Nests.
class no_cancellation {
public:
    no_cancellation() noexcept;
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;
    ~no_cancellation();

private:
    int before_ = 0;
};

/// Ends the calling thread if that was asked for by pthread_cancel() and may be done here: by unwinding, past all destructors.
void end_if_cancelled();

} // namespace remanence::os
