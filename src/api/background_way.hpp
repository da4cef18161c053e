// The thread that keeps read sections of this process out of the way of other processes' applies.
#pragma once

#include "txn/engine.hpp"

#include <atomic>
#include <thread>

namespace remanence::detail {

/// Sleeps until a checkpoint waits for the process, and lets it pass. Where it cannot, for lack of memory, say, the checkpoint goes on waiting,
/// and calls again.
class background_way {
public:
    /// Starts the thread; std::system_error when there can be no more. The engine, of a shared heap, must outlive it.
    explicit background_way(txn::engine& engine);
    /// Ends the thread once it has let a checkpoint pass that it is at. Not in a forked child, which has no such thread.
    ~background_way();
    background_way(const background_way&) = delete;
    background_way& operator=(const background_way&) = delete;

private:
    void run();

    txn::engine& engine_;
    std::atomic<bool> ends_ = false;
    std::thread thread_; // last, since it uses the others
};

} // namespace remanence::detail
