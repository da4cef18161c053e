// Threads that are to wait for each other at a place of the test's choice.
#pragma once

#include <condition_variable>
#include <mutex>

namespace remanence::test {

/// Open at first. Who comes to it while it is shut waits until it is opened.
class gate {
public:
    void shut() {
        const std::lock_guard guard(mutex_);
        shut_ = true;
    }
    void open() {
        const std::lock_guard guard(mutex_);
        shut_ = false;
        changed_.notify_all();
    }
    void pass() {
        std::unique_lock lock(mutex_);
        if (!shut_)
            return;
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return !shut_; });
        --waiting_;
    }
    /// Until somebody waits in pass().
    void await_visitor() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_ > 0; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool shut_ = false;
    int waiting_ = 0;
};

} // namespace remanence::test
