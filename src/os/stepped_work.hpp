// Runs long work in steps, on a thread of its own. The work is written as if it ran at once; where it may be
// interrupted it calls pause().
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace remanence::os {

/// The work and the thread that calls run() never run at the same time.
class stepped_work {
public:
    /// Starts the thread, with all signals blocked; the work waits for run(). std::system_error.
    explicit stepped_work(std::function<void()> work);
    /// If the work is not done, resumes it for the last time: pause() returns false then. Must not be called in a forked
    /// child, which has no such thread.
    ~stepped_work();
    stepped_work(const stepped_work&) = delete;
    stepped_work& operator=(const stepped_work&) = delete;

    /// Resumes the work. Returns once the work pauses (false) or is done (true). Throws what the work has thrown.
    bool run();
    /// Called by the work. Returns at the next run(): true; or false if the work must end.
    [[nodiscard]] bool pause();

private:
    enum class turn { of_caller, of_work };
    void wait_for(turn mine);
    void give(turn next);

    const std::function<void()> work_;
    std::mutex mutex_;
    std::condition_variable changed_;
    turn turn_ = turn::of_caller;
    bool is_done_ = false;
    bool must_end_ = false;
    std::exception_ptr thrown_;
    std::thread thread_; // last, since the thread uses the other members
};

} // namespace remanence::os
