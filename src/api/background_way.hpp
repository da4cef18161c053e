// The thread that lets other processes apply the log although this process has read sections.
#pragma once

#include "txn/engine.hpp"

#include <atomic>
#include <thread>

namespace remanence::detail {

/// Sleeps until a checkpoint waits for this process, and lets it pass. If that fails, for example because memory is
/// lacking, the checkpoint continues to wait, and calls again.
class background_way {
public:
    /// Starts the thread; std::system_error if no thread can be started. The engine belongs to a shared heap, and must
    /// outlive this object.
    explicit background_way(txn::engine& engine);
    /// Ends the thread after it has let the current checkpoint pass. Not to be called in a forked child, which has no
    /// such thread.
    ~background_way();
    background_way(const background_way&) = delete;
    background_way& operator=(const background_way&) = delete;

private:
    void run();

    txn::engine& engine_;
    std::atomic<bool> ends_ = false;
    std::thread thread_; // last, since the thread uses the other members
};

} // namespace remanence::detail
