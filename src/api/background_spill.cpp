#include "api/background_spill.hpp"

#include "os/anonymous_memory.hpp"
#include "os/blocked_signals.hpp"

#include <algorithm>
#include <chrono>

namespace remanence::detail {

namespace {

constexpr std::uint64_t k_steps_of_budget = 8;
// The most memory, in bytes, that a thread is assumed to write in a second, with huge pages too.
constexpr std::uint64_t k_written_in_a_second = 4 * GiB;
constexpr std::chrono::milliseconds k_pause_min{1};
constexpr std::chrono::milliseconds k_pause_max{500};

} // namespace

background_spill::background_spill(txn::engine& engine, std::uint64_t budget)
    : engine_(engine), step_(budget / k_steps_of_budget) {
    const os::blocked_signals none;
    thread_ = std::thread([this] { run(); });
}

background_spill::~background_spill() {
    {
        const std::lock_guard guard(mutex_);
        ends_ = true;
    }
    woken_.notify_one();
    thread_.join();
}

void background_spill::run() {
    const auto pause =
        std::clamp(std::chrono::milliseconds(step_ * 1000 / k_written_in_a_second), k_pause_min, k_pause_max);
    std::uint64_t least = 0; // the lowest use of memory seen since the last spill
    std::unique_lock lock(mutex_);
    while (!woken_.wait_for(lock, pause, [this] { return ends_; })) {
        const std::uint64_t now = os::anonymous_bytes();
        least = std::min(least, now);
        if (now - least < step_)
            continue;
        lock.unlock();
        const bool is_done = engine_.spill_excess();
        // If the engine has spilled, what the program allocated meanwhile counts as growth. Otherwise the next pass
        // tries again.
        least = is_done ? now : 0;
        lock.lock();
    }
}

} // namespace remanence::detail
