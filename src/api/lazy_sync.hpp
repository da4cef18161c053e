// The thread that brings lazy commits to the disk. May use: txn, os.
#pragma once

#include "txn/engine.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// Syncs an engine's log once the interval has passed since a commit was noted. A failure poisons the engine.
class lazy_sync {
public:
    /// Starts the thread; std::system_error when there can be no more. The engine must outlive it.
    lazy_sync(txn::engine& engine, std::chrono::milliseconds interval);
    /// Ends the thread, without another sync. Not in a forked child, which has no such thread.
    ~lazy_sync();
    lazy_sync(const lazy_sync&) = delete;
    lazy_sync& operator=(const lazy_sync&) = delete;

    /// A commit was made that is not durable. From any thread.
    void note();

private:
    void run();

    txn::engine& engine_;
    const std::chrono::milliseconds interval_;
    std::atomic<bool> noted_ = false; // something is to be synced
    std::mutex mutex_;
    std::condition_variable woken_;
    bool ends_ = false;  // guarded by mutex_
    std::thread thread_; // last, since it uses the others
};

} // namespace remanence::detail
