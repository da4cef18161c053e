// The thread that spills what a program writes without allocating, freeing or declaring anything.
#pragma once

#include "txn/engine.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// Looks now and then how much memory the process has, and lets the engine spill when that has grown.
class background_spill {
public:
    /// Starts the thread; std::system_error when there can be no more. The engine must outlive it.
    background_spill(txn::engine& engine, std::uint64_t budget);
    /// Ends the thread once it has spilled what it is at. Not in a forked child, which has no such thread.
    ~background_spill();
    background_spill(const background_spill&) = delete;
    background_spill& operator=(const background_spill&) = delete;

private:
    void run();

    txn::engine& engine_;
    const std::uint64_t step_; // of growth that is worth a look
    std::mutex mutex_;
    std::condition_variable woken_;
    bool ends_ = false;  // guarded by mutex_
    std::thread thread_; // last, since it uses the others
};

} // namespace remanence::detail
