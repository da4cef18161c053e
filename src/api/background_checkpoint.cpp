#include "api/background_checkpoint.hpp"

#include "os/blocked_signals.hpp"

#include <chrono>
#include <new>

namespace remanence::detail {

namespace {

// Commits wait for the same disk. So the thread writes a little at a time, and rests after it unless log or memory is
// nearly full.
constexpr std::uint64_t k_step_bytes = 64 * KiB;
constexpr std::chrono::milliseconds k_rest{1};

} // namespace

background_checkpoint::background_checkpoint(txn::engine& engine) : engine_(engine) {
    const os::blocked_signals none;
    thread_ = std::thread([this] { run(); });
}

background_checkpoint::~background_checkpoint() {
    {
        const std::lock_guard guard(mutex_);
        ends_ = true;
    }
    woken_.notify_one();
    thread_.join();
}

void background_checkpoint::carry_out() {
    {
        const std::lock_guard guard(mutex_);
        begun_ = true;
    }
    woken_.notify_one();
}

void background_checkpoint::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        woken_.wait(lock, [this] { return begun_ || ends_; });
        if (ends_)
            return;
        begun_ = false; // a checkpoint that begins from here on may come too late for this step
        lock.unlock();
        const bool is_left = step();
        lock.lock();
        begun_ = begun_ || is_left;
        if (is_left && engine_.is_checkpoint_ahead())
            woken_.wait_for(lock, k_rest, [this] { return ends_; });
    }
}

/// True if a part of the checkpoint is left. A failure poisons, so the next commit reports it.
bool background_checkpoint::step() {
    try {
        auto is_left = engine_.step_checkpoint(k_step_bytes);
        return is_left && *is_left;
    } catch (const std::bad_alloc&) { // the next commit reports this, too
        return false;
    }
}

} // namespace remanence::detail
