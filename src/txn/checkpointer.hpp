// Checkpoints of an open heap: when one is due, concurrent ones, and those made at once.
//
// Rules kept here: I1, records are durable in the log before they are applied. R4, only the committing thread drops
// or remaps pages of the view.
//
// A page in which a commit changes a word costs 24 bytes of log, but 4 KiB of a checkpoint. So a checkpoint is due
// when the log is as long as what the checkpoint would write. Then the image gets no more bytes than the log.
//
// A commit begins a concurrent checkpoint. Any thread carries it out, step by step; this class has no thread. A
// thread that holds the section lock adopts it when it is done. A caller that needs its end carries out the rest.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "share/coordination.hpp"
#include "store/chunk_copies.hpp"
#include "store/commit_room.hpp"
#include "store/image_writer.hpp"
#include "store/publication.hpp"
#include "txn/checkpoint_run.hpp"
#include "txn/engine_options.hpp"
#include "txn/health.hpp"
#include "txn/memory_budget.hpp"
#include "txn/reclaimer.hpp"
#include "txn/session.hpp"
#include "txn/sharing.hpp"
#include "view/memory_view.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace remanence::txn {

/// Bytes of the pages of a checkpoint. Both are 0 if there is none.
struct checkpoint_progress {
    std::uint64_t done_bytes = 0;
    std::uint64_t total_bytes = 0;
};

/// Callers hold the engine's at_store lock, except for functions marked for any thread.
class checkpointer {
public:
    /// All must outlive this object.
    checkpointer(store::image_writer& writer, const store::chunk_copies& copies, store::commit_room& room,
                 view::memory_view& view, session& commits, const memory_budget& budget, reclaimer& space,
                 health& state, const engine_options& options)
        : writer_(writer),
          copies_(copies),
          room_(room),
          view_(view),
          session_(commits),
          budget_(budget),
          space_(space),
          health_(state),
          options_(options) {}

    /// From now on other processes may have the heap open. `shared` must outlive this object.
    void share_with(sharing& shared) {
        sharing_ = &shared;
        others_ = &shared.protocol();
    }

    /// From now on each checkpoint moves the history first. `mover` must outlive this object.
    void move_history_by(history_mover& mover) { history_ = &mover; }

    // Concurrent checkpoints.

    /// From now on a due checkpoint is only begun, and `begun` is called. If that returns true, somebody calls step()
    /// until it returns false. Otherwise the checkpoint is carried out at once.
    void let_be_carried_out(std::function<bool()> begun) { begun_ = std::move(begun); }
    [[nodiscard]] bool are_carried_out_beside() const { return begun_ != nullptr; }
    /// Called after a commit. Settles some pages. Begins a due checkpoint, or makes it. Fails only if the commit does
    /// not become durable. Any other failure poisons, and the next commit reports it. If the caller does not wait for
    /// the device, a later commit that finds all records durable begins the checkpoint, unless it is far overdue.
    result<void> begin_if_due(change::commit_scope committed, std::uint64_t pages_changed, log::durability awaited);
    /// Called before a commit. Carries out a checkpoint that has fallen behind, and makes room for before-images.
    /// errc::readers_behind if other processes kept the log from being reused until it reached its maximum.
    result<void> make_room_for_before_images();
    [[nodiscard]] bool is_under_way() const { return run_ != nullptr; }
    /// Returns the sequence of the superblock that the checkpoint under way writes; 0 if none is under way.
    [[nodiscard]] std::uint64_t sequence_under_way() const { return run_ ? run_->what().next().sequence : 0; }
    [[nodiscard]] checkpoint_progress under_way() const;
    /// Carries out the rest of the checkpoint under way, if there is one.
    result<void> carry_out();
    /// Carries out the rest, and adopts it.
    result<void> finish();
    void adopt_if_done() noexcept;

    // For any thread.

    /// Carries out about `bytes_max` of the checkpoint under way, or one sync. Returns whether something is left. A
    /// failure poisons.
    result<bool> step(std::uint64_t bytes_max = store::publication::k_step_bytes);
    /// True if the checkpoint, at the pace so far, ends long before the next one is due. Then the thread that carries
    /// it out may rest.
    [[nodiscard]] bool is_ahead() const;
    /// Ends calls of engine_options::on_progress: its owner may be gone.
    void stop_reporting() noexcept { is_reporting_ = false; }
    /// Suspends these calls while the program's own code must not run.
    void be_silent(bool silent) noexcept { is_silent_ = silent; }

    // Checkpoints during which no commit runs.

    /// Applies all committed records to the image and empties the log. Uncommitted changes stay in memory. A failure
    /// poisons. Precondition: no checkpoint is under way.
    result<void> apply_beside_changes();
    /// Makes the last checkpoint of a session: the superblock marks the heap clean. Leaves the view as it is. A
    /// failure poisons.
    result<void> apply_at_close();
    /// Finishes the checkpoint under way, or makes one, unless another process makes one. For a commit that would
    /// otherwise write twice what no checkpoint covers.
    result<void> make_one();
    /// Waits until the log has room for a record of this size. errc::readers_behind as above.
    result<void> make_room_in_log(std::uint64_t record_bytes);
    /// Calls `work` while no other process makes a checkpoint or writes a superblock. The heap file is then as the
    /// current superblock says. Waits for another process's checkpoint; errc::readers_behind if readers hold that up.
    result<void> beside_no_other(const std::function<result<void>()>& work);
    /// Calls `write` likewise. `write` writes a superblock that names no new content.
    result<void> write_superblock(const std::function<result<void>()>& write);
    /// Returns about how many bytes of pages make_one() would write.
    [[nodiscard]] std::uint64_t bytes_of_one() const;

    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Returns how many commits and other calls carried out a step or the rest of a checkpoint that another thread
    /// should have carried out.
    [[nodiscard]] std::uint64_t held_up() const { return held_up_; }
    /// Returns the bytes that all checkpoints wrote.
    [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }

private:
    /// How full the log is, and the fullest of before-images, retired copies and mappings, as fractions of their
    /// limits.
    struct limits {
        double log;
        double memory;
        [[nodiscard]] double most() const { return log > memory ? log : memory; }
    };
    [[nodiscard]] limits limits_reached() const;
    /// True if the checkpoint under way must end before the next commit.
    [[nodiscard]] bool must_wait() const;
    result<void> make_or_begin(change::commit_scope committed);
    result<void> poison_unless_refused(result<void> done);
    result<void> begin();
    result<void> prepare_and_begin();
    result<bool> take_from_others();
    /// Carries out the rest. Returns false if readers in other processes hold it up for longer than `patience`.
    result<bool> carry_out_within(std::chrono::nanoseconds patience);
    result<void> finish_within_a_moment();
    result<void> make_log_whole();
    result<void> keep_log_in_bounds();
    [[nodiscard]] unexpected readers_behind() const;
    void adopt() noexcept;
    result<void> apply(bool is_clean);
    result<void> apply_and_settle(change::commit_scope committed);
    result<void> prepare();
    result<history_mover*> move_history(bool is_clean);
    result<void> step_of(checkpoint_run& run, std::uint64_t bytes_max);

    store::image_writer& writer_;
    const store::chunk_copies& copies_;
    store::commit_room& room_;
    view::memory_view& view_;
    session& session_;
    const memory_budget& budget_;
    reclaimer& space_;
    health& health_;
    const engine_options& options_;
    sharing* sharing_ = nullptr; // both are null if the heap is not shared
    share::coordination* others_ = nullptr;
    std::optional<std::chrono::steady_clock::time_point> too_long_since_; // when a commit first found the log too long
    std::uint64_t count_ = 0;
    std::uint64_t held_up_ = 0;
    std::uint64_t log_limit_of_run_ = 0; // of the checkpoint under way
    std::uint64_t image_bytes_ = 0;
    std::atomic<bool> is_silent_ = false;
    std::atomic<bool> is_reporting_ = true;
    history_mover* history_ = nullptr;    // null: no history is kept
    std::function<bool()> begun_;         // from let_be_carried_out(); empty: nobody carries checkpoints out
    std::atomic<double> due_again_ = 0;   // 0 when run_ began, 1 when commits wait for it
    mutable std::mutex running_;          // guards run_ for threads without at_store
    std::shared_ptr<checkpoint_run> run_; // under way, or to be adopted; changed with both locks held
};

} // namespace remanence::txn
