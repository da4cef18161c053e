// The thread that carries out checkpoints while commits go on.
#pragma once

#include "txn/engine.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// Carries out the checkpoints that commits of an engine begin. A failure poisons the engine.
class background_checkpoint {
public:
    /// Starts the thread; std::system_error if no thread can be started. The engine must outlive this object.
    explicit background_checkpoint(txn::engine& engine);
    /// Ends the thread after its current step. The caller must carry out the rest of the checkpoint if it is needed.
    /// Must not be called in a forked child, which has no such thread.
    ~background_checkpoint();
    background_checkpoint(const background_checkpoint&) = delete;
    background_checkpoint& operator=(const background_checkpoint&) = delete;

    /// Tells the thread that a checkpoint has begun.
    void carry_out();

private:
    void run();
    bool step();

    txn::engine& engine_;
    std::mutex mutex_;
    std::condition_variable woken_;
    bool begun_ = false; // guarded by mutex_
    bool ends_ = false;  // guarded by mutex_
    std::thread thread_; // last, since the thread uses the other members
};

} // namespace remanence::detail
