// The heap's own threads, which run beside the program. Each is started when it first has work, or, in a shared heap,
// when other processes may give it work. If a thread cannot be started, the program's threads do its work.
#pragma once

#include "api/background_checkpoint.hpp"
#include "api/background_news.hpp"
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
    /// The engine must live until end() is called.
    heap_threads(txn::engine& engine, std::chrono::milliseconds lazy_interval)
        : engine_(engine), lazy_interval_(lazy_interval) {}

    /// Starts the thread that makes requested commits of `progress` durable. Returns true if the thread runs. Each call
    /// must pass the same `progress`. The caller holds the write lock.
    bool start_syncer(commit_progress& progress);
    // Requests to that thread, from any thread, after start_syncer() has returned true.
    void sync_soon() { syncer_->sync_soon(); }
    void sync_now() { syncer_->sync_now(); }
    /// Requests the log record of a commit that has only copied its changed pages.
    void finish_point() { syncer_->finish_point(); }

    /// Lets a thread carry out the checkpoint that a commit has begun. Returns false if there is no thread. The caller
    /// holds the write lock.
    bool carry_out_checkpoint();

    /// Starts the spilling thread if the heap is large. Must be called when the heap is opened, and whenever it has
    /// grown. Any thread may call it. Throws std::bad_alloc.
    void watch_memory();

    /// Starts the thread that lets other processes apply the log although this process has read sections. Called once,
    /// for a shared heap. Without that thread, they wait until the sections end. Throws std::bad_alloc.
    void watch_checkpoints();

    /// Returns the descriptor of the thread that watches the commits of other processes. The first call starts the thread,
    /// by `start`, which returns a commit_poll and may throw.
    template <class F>
    int watch_commits(const F& start) {
        const std::scoped_lock alone(watching_);
        if (!news_)
            news_ = start();
        return news_->descriptor();
    }

    /// Ends the threads. close() then does the work that they have not finished.
    void end();
    /// Must be called in a forked child, which has no such threads. It can neither end them, nor wait for a lock that
    /// one of them held.
    void abandon() noexcept;

private:
    txn::engine& engine_;
    const std::chrono::milliseconds lazy_interval_;
    std::unique_ptr<background_sync> syncer_;             // guarded by the write lock, until end()
    std::unique_ptr<background_checkpoint> checkpointer_; // guarded by the write lock, until end()
    std::unique_ptr<background_way> way_giver_;           // from watch_checkpoints() to end()
    std::mutex watching_;
    std::unique_ptr<background_spill> spiller_; // guarded by watching_, until end()
    std::unique_ptr<commit_poll> news_;         // guarded by watching_, until end()
};

} // namespace remanence::detail
