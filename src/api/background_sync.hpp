// The thread that makes durable what nobody waits for: lazy commits after a while, asynchronous ones at once.
#pragma once

#include "api/commit_progress.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// Makes the records of commits that were only copied, and makes durable what is wanted of an engine. A failure poisons it.
class background_sync {
public:
    /// Starts the thread; std::system_error when there can be no more. The engine must outlive it.
    background_sync(txn::engine& engine, commit_progress& progress, std::chrono::milliseconds lazy_interval);
    /// Ends the thread, without another sync. Not in a forked child, which has no such thread.
    ~background_sync();
    background_sync(const background_sync&) = delete;
    background_sync& operator=(const background_sync&) = delete;

    // Something is wanted. From any thread.

    /// Within the interval from now.
    void sync_soon();
    void sync_now();
    /// The record of a commit is to be made, whenever it is synced.
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
    bool point_ = false; // likewise
    bool ends_ = false;  // likewise
    std::thread thread_; // last, since it uses the others
};

} // namespace remanence::detail
