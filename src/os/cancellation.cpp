#include "os/cancellation.hpp"

#include <pthread.h>

namespace remanence::os {

static constinit thread_local int deferred = 0;
static constinit thread_local int state_before = 0;

void defer_cancellation() noexcept {
    if (deferred++ == 0)
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before);
}

void allow_cancellation() noexcept {
    if (--deferred == 0)
        ::pthread_setcancelstate(state_before, nullptr);
}

void end_if_cancelled() { ::pthread_testcancel(); }

} // namespace remanence::os
