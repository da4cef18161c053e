#include "api/lazy_sync.hpp"

#include "os/blocked_signals.hpp"

#include <new>

namespace remanence::detail {

lazy_sync::lazy_sync(txn::engine& engine, std::chrono::milliseconds interval) : engine_(engine), interval_(interval) {
    const os::blocked_signals none;
    thread_ = std::thread([this] { run(); });
}

lazy_sync::~lazy_sync() {
    {
        const std::lock_guard guard(mutex_);
        ends_ = true;
    }
    woken_.notify_one();
    thread_.join();
}

void lazy_sync::note() {
    if (noted_.exchange(true))
        return; // the thread knows
    {
        const std::lock_guard guard(mutex_);
    } // it waits already, or has yet to look at noted_
    woken_.notify_one();
}

void lazy_sync::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        woken_.wait(lock, [this] { return noted_ || ends_; });
        if (woken_.wait_for(lock, interval_, [this] { return ends_; }))
            return;
        noted_ = false; // what is noted from here on may come too late for this sync
        lock.unlock();
        try {
            (void)engine_.sync();         // a failure poisons, so the next commit reports it
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): likewise
        }
        lock.lock();
    }
}

} // namespace remanence::detail
