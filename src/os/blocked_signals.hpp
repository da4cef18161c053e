// Keeps signals from the library's own threads.
#pragma once

#include <memory>

namespace remanence::os {

/// Blocks all signals of the calling thread while this object exists. Threads started meanwhile inherit that for their
/// whole life, so the program's handlers run on the program's threads.
class blocked_signals {
public:
    blocked_signals();
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;
    ~blocked_signals();

private:
    struct mask;
    std::unique_ptr<mask> before_;
};

} // namespace remanence::os
