#include "os/blocked_signals.hpp"

#include <csignal>

namespace remanence::os {

struct blocked_signals::mask {
    sigset_t signals;
};

blocked_signals::blocked_signals() : before_(std::make_unique<mask>()) {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_->signals);
}

blocked_signals::~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_->signals, nullptr); }

} // namespace remanence::os
