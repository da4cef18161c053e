#include "api/background_sync.hpp"

#include "os/blocked_signals.hpp"

namespace remanence::detail {

background_sync::background_sync(txn::engine& engine, commit_progress& progress,
                                 std::chrono::milliseconds lazy_interval)
    : engine_(engine), progress_(progress), lazy_interval_(lazy_interval) {
    const os::blocked_signals none;
    thread_ = std::thread([this] { run(); });
}

background_sync::~background_sync() {
    {
        const std::lock_guard guard(mutex_);
        ends_ = true;
    }
    woken_.notify_one();
    thread_.join();
}

void background_sync::sync_soon() {
    if (soon_.exchange(true))
        return; // the thread knows
    {
        const std::lock_guard guard(mutex_);
    } // it waits already, or has yet to look at soon_
    woken_.notify_one();
}

void background_sync::sync_now() {
    {
        const std::lock_guard guard(mutex_);
        now_ = true;
    }
    woken_.notify_one();
}

void background_sync::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        woken_.wait(lock, [this] { return soon_ || now_ || ends_; });
        woken_.wait_for(lock, lazy_interval_, [this] { return now_ || ends_; });
        if (ends_)
            return;
        soon_ = now_ = false; // what is wanted from here on may come too late for this sync
        lock.unlock();
        progress_.bring(engine_); // a failure poisons, so the next commit reports it
        lock.lock();
    }
}

} // namespace remanence::detail
