// Calls that must not be left half done: by a cancellation of their thread, or by the end of the heap during the call.
#pragma once

#include "os/cancellation.hpp"

#include <atomic>

namespace remanence::detail {

/// Counts the calls that a heap is in. Any thread may call it.
class whole_calls {
public:
    void begin() noexcept { ++under_way_; }
    void end() noexcept { --under_way_; }
    [[nodiscard]] bool any() const noexcept { return under_way_ != 0; }

private:
    std::atomic<int> under_way_ = 0;
};

/// While it lives, its thread is not cancelled. A signal handler or on_progress may call exit() meanwhile; then the
/// heap's destructor leaves everything as it is.
class whole_call {
public:
    explicit whole_call(whole_calls& calls) noexcept : calls_(calls) { calls.begin(); }
    whole_call(const whole_call&) = delete;
    whole_call& operator=(const whole_call&) = delete;
    ~whole_call() { calls_.end(); }

private:
    os::no_cancellation none_;
    whole_calls& calls_;
};

} // namespace remanence::detail
