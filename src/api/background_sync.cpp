#include "api/background_sync.hpp"

#include "os/blocked_signals.hpp"

#include <new>
#include <utility>

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
        return; // the thread has such a request already
    {
        const std::lock_guard guard(mutex_);
    } // the thread now waits, so that notify_one() wakes it, or has not checked soon_ yet
    woken_.notify_one();
}

void background_sync::sync_now() {
    {
        const std::lock_guard guard(mutex_);
        now_ = true;
    }
    woken_.notify_one();
}

void background_sync::finish_point() {
    {
        const std::lock_guard guard(mutex_);
        point_ = true;
    }
    woken_.notify_one();
}

void background_sync::run() {
    const auto is_urgent = [this] { return now_ || point_ || ends_; };
    std::unique_lock lock(mutex_);
    for (;;) {
        woken_.wait(lock, [&] { return soon_ || is_urgent(); });
        woken_.wait_for(lock, lazy_interval_, is_urgent);
        if (ends_)
            return;
        if (std::exchange(point_, false)) {
            lock.unlock();
            make_record();
            lock.lock();
            continue;
        }
        soon_ = now_ = false; // this sync may miss a later request, which sets a flag again
        lock.unlock();
        progress_.bring(engine_); // a failure poisons the engine, so the next commit reports it
        lock.lock();
    }
}

void background_sync::make_record() {
    try {
        (void)engine_.finish_point(); // a failure poisons the engine, so the next commit reports it
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): poisons, too
    }
}

} // namespace remanence::detail
