#include "txn/checkpoint_run.hpp"

#include <thread>
#include <utility>

namespace remanence::txn {

namespace {

constexpr std::chrono::milliseconds k_between_looks{1}; // between checks whether readers still need the old bytes

} // namespace

result<void> checkpoint_run::step(std::uint64_t bytes_max) {
    const std::lock_guard guard(mutex_);
    if (failed_)
        return unexpected(*failed_);
    if (is_done_)
        return {};
    auto done = advance(bytes_max);
    if (!done)
        failed_ = done.why();
    return done;
}

result<void> checkpoint_run::advance(std::uint64_t bytes_max) {
    if (!may_apply_) {
        may_apply_ = others_ == nullptr || others_->may_apply();
        if (wait_unless(may_apply_))
            return {};
    }
    if (history_mover* const moved = std::exchange(history_, nullptr))
        return moved->sync();
    if (!what_->is_done())
        REM_TRY(what_->step(bytes_max));
    is_done_ = what_->is_done() && (others_ == nullptr || have_others_let_go());
    return {};
}

bool checkpoint_run::have_others_let_go() {
    if (!is_published_) {
        const format::superblock& next = what_->next();
        others_->publish_checkpoint({next.sequence, next.checkpoint_version, next.log_begin});
        is_published_ = true;
    }
    if (wait_unless(others_->may_release()))
        return false;
    others_->release();
    is_done_ = true; // set before the lock is released, so before another process can write the next superblock
    others_->release_checkpoint();
    return true;
}

bool checkpoint_run::wait_unless(bool allowed) {
    if (allowed) {
        waits_since_ = clock::time_point();
        return false;
    }
    if (!waits_for_readers())
        waits_since_ = clock::now();
    std::this_thread::sleep_for(k_between_looks);
    return true;
}

} // namespace remanence::txn
