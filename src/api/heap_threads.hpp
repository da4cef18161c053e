// The threads that work beside the program for one heap. Each is started when there is work for it for the first time, or when a
// heap is shared that other processes may have work for; where no thread can be had, the program's threads do what it would do.
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

    /// True if there is one that makes durable what is wanted of `progress`, the same at each call. With the write lock held.
    bool start_syncer(commit_progress& progress);
    // Something is wanted. From any thread, once start_syncer() has said that there is one.
    void sync_soon() { syncer_->sync_soon(); }
    void sync_now() { syncer_->sync_now(); }
    /// A commit was only copied, and its record is to be made.
    void finish_point() { syncer_->finish_point(); }

    /// Has a thread carry out the checkpoint that a commit has begun; false when there is none. With the write lock held.
    bool carry_out_checkpoint();

    /// Starts the spiller, if the heap is large: when it is opened, and when it has grown. From any thread. Throws std::bad_alloc.
    void watch_memory();

    /// From now on read sections keep out of the way of other processes' applies: of a shared heap, once. Without a thread for it these
    /// wait for the end of the sections. Throws std::bad_alloc.
    void watch_applies();

    /// What they have left undone, close() does, and nobody else needs.
    void end();
    /// In a child of a fork, which has not the threads, and cannot end them, nor wait for a lock that one of them held.
    void abandon() noexcept;

private:
    txn::engine& engine_;
    const std::chrono::milliseconds lazy_interval_;
    std::unique_ptr<background_sync> syncer_;             // guarded by the write lock, until end()
    std::unique_ptr<background_checkpoint> checkpointer_; // likewise
    std::unique_ptr<background_way> way_giver_;           // from watch_applies() to end()
    std::mutex watching_;
    std::unique_ptr<background_spill> spiller_; // guarded by watching_, until end()
};

} // namespace remanence::detail
