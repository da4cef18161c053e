#include "os/cancellation.hpp"

#include <pthread.h>

namespace remanence::os {

int defer_cancellation() noexcept {
    int before = 0;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void set_cancellation(int state) noexcept { ::pthread_setcancelstate(state, nullptr); }

void end_if_cancelled() { ::pthread_testcancel(); }

} // namespace remanence::os
