// Concurrent checkpoint: started by one commit, run by another thread, finished by a later commit.
//
// I4: in a shared heap, no bytes that a reader needs are overwritten in place, and no log that another process may be
// copying.
#pragma once

#include "base/result.hpp"
#include "share/coordination.hpp"
#include "store/publication.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace remanence::txn {

/// Moves a history's events from the log to its file.
class history_mover {
public:
    history_mover() = default;
    history_mover(const history_mover&) = delete;
    history_mover& operator=(const history_mover&) = delete;
    virtual ~history_mover() = default;
    /// Opens the file that move() will write to. A failure changes nothing; the call may be repeated.
    virtual result<void> prepare_to_move() { return {}; }
    /// Writes the events. Called before the checkpoint that covers their records; these records must be durable.
    /// Returns whether sync() must be called next. Precondition: prepare_to_move() has succeeded, and since then no
    /// other process could write to the file.
    virtual result<bool> move(bool is_clean) = 0;
    /// Makes the events durable, before the superblock is written. From any thread.
    virtual result<void> sync() = 0;
};

class checkpoint_run {
public:
    /// `log_begin` is where the log begins according to the next superblock. `others` is null unless the heap is
    /// shared: then this process must hold the checkpoint lock and have declared the checkpoint, and the run releases
    /// the lock at its end. If `history` is not null, the run first calls its sync() (H6).
    checkpoint_run(std::unique_ptr<store::publication> what, std::uint64_t log_begin,
                   share::coordination* others = nullptr, history_mover* history = nullptr)
        : what_(std::move(what)), log_begin_(log_begin), others_(others), history_(history) {}

    // For any thread.

    /// Writes about `bytes_max` of the remaining bytes, or makes one sync. Does nothing if the run is done. While the
    /// run must wait for readers in other processes, a step only sleeps a moment. A failure is final: each later step
    /// returns it (I5).
    result<void> step(std::uint64_t bytes_max);
    [[nodiscard]] bool is_done() const { return is_done_; }
    /// True if the last step had to wait for readers in other processes.
    [[nodiscard]] bool waits_for_readers() const { return waits_since_.load() != clock::time_point(); }
    /// Returns for how long the run has been waiting for such readers.
    [[nodiscard]] std::chrono::nanoseconds waited() const {
        const clock::time_point since = waits_since_;
        return since != clock::time_point() ? clock::now() - since : std::chrono::nanoseconds::zero();
    }
    [[nodiscard]] std::uint64_t done_bytes() const { return what_->written_bytes(); }
    [[nodiscard]] std::uint64_t total_bytes() const { return what_->page_bytes(); }

    /// For a run that is done.
    [[nodiscard]] const store::publication& what() const { return *what_; }
    [[nodiscard]] std::uint64_t log_begin() const { return log_begin_; }

private:
    using clock = std::chrono::steady_clock;
    result<void> advance(std::uint64_t bytes_max);
    bool have_others_let_go();
    bool wait_unless(bool allowed);

    const std::unique_ptr<store::publication> what_;
    const std::uint64_t log_begin_;
    share::coordination* const others_;
    history_mover* history_;    // guarded by mutex_; null: its events are durable, or there is no history
    bool may_apply_ = false;    // guarded by mutex_
    bool is_published_ = false; // guarded by mutex_; other processes know the superblock
    std::atomic<bool> is_done_ = false;
    std::atomic<clock::time_point> waits_since_{}; // zero: the run does not wait
    std::mutex mutex_;                             // held by the thread that takes a step
    std::optional<failure> failed_;                // guarded by mutex_
};

} // namespace remanence::txn
