// Concurrent checkpoint: started by one commit, run by another thread, finished by a later commit.
//
// I4: in a shared heap nothing is overwritten in place while a reader needs it. The log stays while another process
// may be copying it.
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

/// Moves a history's events out of the log.
class history_mover {
public:
    history_mover() = default;
    history_mover(const history_mover&) = delete;
    history_mover& operator=(const history_mover&) = delete;
    virtual ~history_mover() = default;
    /// Finds the file that move() writes to. A failure changes nothing; the call may be repeated.
    virtual result<void> prepare_to_move() { return {}; }
    /// Writes the events. Called before a checkpoint that covers their records, when all of these are durable.
    /// Returns whether sync() must follow. Precondition: prepare_to_move() has succeeded, and no other process could
    /// write there since.
    virtual result<bool> move(bool is_clean) = 0;
    /// Makes the events durable, before the superblock is written. From any thread.
    virtual result<void> sync() = 0;
};

class checkpoint_run {
public:
    /// `log_begin` is the log's begin in the next superblock. `others`: the heap is shared, and this process has
    /// taken the checkpoint lock and declared the checkpoint; the run releases the lock at its end. `history`: the
    /// run first makes durable what was moved to it (H6); null: there is none.
    checkpoint_run(std::unique_ptr<store::publication> what, std::uint64_t log_begin,
                   share::coordination* others = nullptr, history_mover* history = nullptr)
        : what_(std::move(what)), log_begin_(log_begin), others_(others), history_(history) {}

    // For any thread.

    /// Does about `bytes_max` of the rest, or one sync. Does nothing if the run is done. While readers in other
    /// processes hold it up, it only waits a moment. A failure is final: each later step returns it (I5).
    result<void> step(std::uint64_t bytes_max);
    [[nodiscard]] bool is_done() const { return is_done_; }
    /// True if readers in other processes held up the last step.
    [[nodiscard]] bool waits_for_readers() const { return waits_since_.load() != clock::time_point(); }
    /// Returns how long they have held it up so far.
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
    history_mover* history_;    // guarded by mutex_; null: durable, or there is none
    bool may_apply_ = false;    // guarded by mutex_, as is the next one
    bool is_published_ = false; // other processes know the superblock
    std::atomic<bool> is_done_ = false;
    std::atomic<clock::time_point> waits_since_{}; // zero: it does not wait
    std::mutex mutex_;                             // held by the thread that takes a step
    std::optional<failure> failed_;                // guarded by mutex_
};

} // namespace remanence::txn
