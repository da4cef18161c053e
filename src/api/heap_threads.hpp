// The heap's own threads, which run beside the program. Each is started when it first has work to do, or when the heap
// is shared and other processes may have work for it. If a thread cannot be started, the program's threads do its work.
#pragma once

#include "api/background_checkpoint.hpp"
#include "api/background_spill.hpp"
#include "api/background_sync.hpp"
#include "api/background_way.hpp"
#include "api/commit_progress.hpp"
#include "txn/engine.hpp"

#include <chrono>
#include <memory>
#include <mutex>

namespace remanence::detail {

class heap_threads {
public:
    /// The engine must live until end().
    heap_threads(txn::engine& engine, std::chrono::milliseconds lazy_interval)
        : engine_(engine), lazy_interval_(lazy_interval) {}

    /// Starts the thread that makes requested commits of `progress` durable; true if it runs. `progress` must be the
    /// same at each call. The caller holds the write lock.
    bool start_syncer(commit_progress& progress);
    // Requests from any thread, after start_syncer() has returned true.
    void sync_soon() { syncer_->sync_soon(); }
    void sync_now() { syncer_->sync_now(); }
    /// Requests the log record of a commit that was only copied.
    void finish_point() { syncer_->finish_point(); }

    /// Lets a thread carry out the checkpoint that a commit has begun; false if there is no thread. The caller holds
    /// the write lock.
    bool carry_out_checkpoint();

    /// Starts the spilling thread if the heap is large. To be called when the heap is opened, and when it has grown.
    /// Any thread may call it. Throws std::bad_alloc.
    void watch_memory();

    /// Starts the thread that lets applies of other processes pass this process's read sections; once, for a shared
    /// heap. Without that thread, applies wait for the end of the sections. Throws std::bad_alloc.
    void watch_applies();

    /// Ends the threads. close() does the work that they leave undone.
    void end();
    /// To be called in a forked child, which does not have the threads: it cannot end them, nor wait for a lock that
    /// one of them held.
    void abandon() noexcept;

private:
    txn::engine& engine_;
    const std::chrono::milliseconds lazy_interval_;
    std::unique_ptr<background_sync> syncer_;             // guarded by the write lock, until end()
    std::unique_ptr<background_checkpoint> checkpointer_; // guarded by the write lock, until end()
    std::unique_ptr<background_way> way_giver_;           // from watch_applies() to end()
    std::mutex watching_;
    std::unique_ptr<background_spill> spiller_; // guarded by watching_, until end()
};

} // namespace remanence::detail
