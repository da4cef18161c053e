// Calls that must not be interrupted halfway: by a cancellation of their thread, or by the end of the heap.
#pragma once

#include "os/cancellation.hpp"

#include <atomic>

namespace remanence::detail {

/// Counts the calls that are running on a heap. Any thread may call any function.
class whole_calls {
public:
    void begin() noexcept { ++under_way_; }
    void end() noexcept { --under_way_; }
    [[nodiscard]] bool any() const noexcept { return under_way_ != 0; }

private:
    std::atomic<int> under_way_ = 0;
};

/// While such an object exists, its thread cannot be cancelled. If a signal handler or on_progress calls exit() then,
/// the heap's destructor changes nothing.
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
