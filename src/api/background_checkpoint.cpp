#include "api/background_checkpoint.hpp"

#include "os/blocked_signals.hpp"

#include <chrono>
#include <new>

namespace remanence::detail {

namespace {

// Commits use the same disk. So the thread writes a small piece at a time, and rests after each piece unless the log or
// memory is nearly full.
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
        // For a checkpoint that begins after this line, carry_out() sets begun_ again, because step() may not see it.
        begun_ = false;
        lock.unlock();
        const bool is_left = step();
        lock.lock();
        begun_ = begun_ || is_left;
        if (is_left && engine_.is_checkpoint_ahead())
            woken_.wait_for(lock, k_rest, [this] { return ends_; });
    }
}

/// Returns true if a part of the checkpoint is left. A failure poisons the engine, so the next commit reports it.
bool background_checkpoint::step() {
    try {
        auto is_left = engine_.step_checkpoint(k_step_bytes);
        return is_left && *is_left;
    } catch (const std::bad_alloc&) { // lack of memory poisons too, so the next commit reports it
        return false;
    }
}

} // namespace remanence::detail
