// The thread that carries out checkpoints while commits go on.
#pragma once

#include "txn/engine.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace remanence::detail {

/// Carries out the checkpoints that an engine's commits begin. A failure poisons it.
class background_checkpoint {
public:
    /// Starts the thread; std::system_error when there can be no more. The engine must outlive it.
    explicit background_checkpoint(txn::engine& engine);
    /// Ends the thread once the step that it is at is done; who needs the rest carries it out. Not in a forked child,
    /// which has no such thread.
    ~background_checkpoint();
    background_checkpoint(const background_checkpoint&) = delete;
    background_checkpoint& operator=(const background_checkpoint&) = delete;

    /// One has begun.
    void carry_out();

private:
    void run();
    bool step();

    txn::engine& engine_;
    std::mutex mutex_;
    std::condition_variable woken_;
    bool begun_ = false; // guarded by mutex_
    bool ends_ = false;  // likewise
    std::thread thread_; // last, since it uses the others
};

} // namespace remanence::detail
