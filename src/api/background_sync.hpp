// The thread that makes commits durable when no thread of the program waits for them: lazy commits after an interval,
// asynchronous ones at once.
#pragma once

#include "api/commit_progress.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// Makes requested commits of an engine durable. If a commit has only copied its changed pages, to return sooner, this
/// thread also writes the commit's log record. A failure poisons the engine.
class background_sync {
public:
    /// Starts the thread; std::system_error if no thread can be started. The engine must outlive this object.
    background_sync(txn::engine& engine, commit_progress& progress, std::chrono::milliseconds lazy_interval);
    /// Ends the thread, without another sync. Not to be called in a forked child, which has no such thread.
    ~background_sync();
    background_sync(const background_sync&) = delete;
    background_sync& operator=(const background_sync&) = delete;

    // Requests to the thread. Any thread may call these.

    /// Requests a sync within the interval from now.
    void sync_soon();
    void sync_now();
    /// Requests the log record of a commit that has only copied its changed pages. The record need not be synced.
    void finish_point();

private:
    void run();
    void make_record();

    txn::engine& engine_;
    commit_progress& progress_;
    const std::chrono::milliseconds lazy_interval_;
    std::atomic<bool> soon_ = false;
    std::mutex mutex_;
    std::condition_variable woken_;
    bool now_ = false;   // guarded by mutex_
    bool point_ = false; // guarded by mutex_
    bool ends_ = false;  // guarded by mutex_
    std::thread thread_; // last, since the thread uses the other members
};

} // namespace remanence::detail
