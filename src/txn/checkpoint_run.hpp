// A checkpoint that commits go on beside: begun by one of them, carried out from elsewhere, adopted by a later one.
//
// I4: of a shared heap nothing is overwritten in place while a reader needs it, and the log stays until nobody may be copying it.
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

/// Brings what the records have of a history out of the log.
class history_mover {
public:
    history_mover() = default;
    history_mover(const history_mover&) = delete;
    history_mover& operator=(const history_mover&) = delete;
    virtual ~history_mover() = default;
    /// Finds what move() writes to. What fails has changed nothing, and may be tried again.
    virtual result<void> prepare_to_move() { return {}; }
    /// All records being durable, before a checkpoint that covers them. Whether sync() is to follow. Precondition: prepare_to_move() has
    /// succeeded, and nobody else could write there since.
    virtual result<bool> move(bool is_clean) = 0;
    /// Makes that durable, before the superblock is written. From any thread.
    virtual result<void> sync() = 0;
};

class checkpoint_run {
public:
    /// `log_begin`: of the log, as the superblock will say. `others`: of a shared heap, whose checkpoint this process has taken;
    /// it is let go of in the end. The checkpoint was declared. `history`: what
    /// moved to it is made durable first (H6); null: there is none.
    checkpoint_run(std::unique_ptr<store::publication> what, std::uint64_t log_begin,
                   share::coordination* others = nullptr, history_mover* history = nullptr)
        : what_(std::move(what)), log_begin_(log_begin), others_(others), history_(history) {}

    // From any thread.

    /// Carries out about `bytes_max` of what is left, or a sync; nothing when it is done, or while readers in other processes are
    /// in the way, for whom it waits a moment. A failure is final, and heard by everybody who asks for another step (I5).
    result<void> step(std::uint64_t bytes_max);
    [[nodiscard]] bool is_done() const { return is_done_; }
    /// Whether the last step found such readers.
    [[nodiscard]] bool waits_for_readers() const { return waits_since_.load() != clock::time_point(); }
    /// For how long steps have found them by now.
    [[nodiscard]] std::chrono::nanoseconds waited() const {
        const clock::time_point since = waits_since_;
        return since != clock::time_point() ? clock::now() - since : std::chrono::nanoseconds::zero();
    }
    [[nodiscard]] std::uint64_t done_bytes() const { return what_->written_bytes(); }
    [[nodiscard]] std::uint64_t total_bytes() const { return what_->page_bytes(); }

    /// What is done.
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
    history_mover* history_;    // guarded by mutex_; null: it is durable, or there is none
    bool may_apply_ = false;    // guarded by mutex_, and so is this:
    bool is_published_ = false; // other processes know the superblock
    std::atomic<bool> is_done_ = false;
    std::atomic<clock::time_point> waits_since_{}; // of no time: it does not wait
    std::mutex mutex_;                             // of who is at the next step
    std::optional<failure> failed_;                // guarded by mutex_
};

} // namespace remanence::txn
