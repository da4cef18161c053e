// The thread that lets other processes apply the log although this process has read sections.
#pragma once

#include "txn/engine.hpp"

#include <atomic>
#include <thread>

namespace remanence::detail {

/// Sleeps until a checkpoint of another process waits for read sections of this one, then lets that checkpoint pass. If
/// this fails, for example for lack of memory, the checkpoint goes on waiting, and repeats its request.
class background_way {
public:
    /// Starts the thread; std::system_error if no thread can be started. The engine must be that of a shared heap, and
    /// must outlive this object.
    explicit background_way(txn::engine& engine);
    /// Ends the thread after it has let the current checkpoint pass. Must not be called in a forked child, which has no
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
