// The thread that spills pages when the program writes much without allocating, freeing or declaring anything.
#pragma once

#include "txn/engine.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// Checks regularly how much memory the process uses, and lets the engine spill when the use has grown.
class background_spill {
public:
    /// Starts the thread; std::system_error if no thread can be started. The engine must outlive this object.
    background_spill(txn::engine& engine, std::uint64_t budget);
    /// Ends the thread after its current spill. Not to be called in a forked child, which has no such thread.
    ~background_spill();
    background_spill(const background_spill&) = delete;
    background_spill& operator=(const background_spill&) = delete;

private:
    void run();

    txn::engine& engine_;
    const std::uint64_t step_; // growth after which the engine is asked to spill
    std::mutex mutex_;
    std::condition_variable woken_;
    bool ends_ = false;  // guarded by mutex_
    std::thread thread_; // last, since the thread uses the other members
};

} // namespace remanence::detail
