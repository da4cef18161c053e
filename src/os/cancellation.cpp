#include "os/cancellation.hpp"

#include <pthread.h>

namespace remanence::os {

no_cancellation::no_cancellation() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }

no_cancellation::~no_cancellation() { ::pthread_setcancelstate(before_, nullptr); }

void end_if_cancelled() { ::pthread_testcancel(); }

} // namespace remanence::os
