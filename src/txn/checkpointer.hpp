// Checkpoints of an open heap: when one is due, one that commits go on beside, and applies that nothing goes on
// beside.
//
// Kept here: I1, what is applied is durable in the log before; R4, only who commits drops or remaps pages of the view.
//
// When one is due: a page that a commit changes by a word costs 24 bytes of log and 4 KiB of a checkpoint, so one begins when the log is as
// long as what it would write. Then no more is written to the image than to the log.
//
// A checkpoint beside commits is begun by a commit, carried out by anybody, and adopted by whoever finds it done and holds the
// lock of the sections; who needs its end carries out the rest. There is no thread here: somebody else carries them out, step
// by step.
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

/// Bytes of the pages of a checkpoint; 0, both: of none.
struct checkpoint_progress {
    std::uint64_t done_bytes = 0;
    std::uint64_t total_bytes = 0;
};

/// Callers hold the engine's at_store lock, but for what is said to be for any thread.
class checkpointer {
public:
    /// All must outlive it.
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

    /// From now on other processes may have the heap open. `shared` must outlive it.
    void share_with(sharing& shared) {
        sharing_ = &shared;
        others_ = &shared.protocol();
    }

    /// From now on each checkpoint moves the history first. `mover` must outlive this.
    void move_history_by(history_mover& mover) { history_ = &mover; }

    // Beside commits.

    /// From now on one that is due is begun and not made at once; `begun` is called then: step() is to be called until it says
    /// that nothing is left. If `begun` says that nobody can, it is carried out at once.
    void let_be_carried_out(std::function<bool()> begun) { begun_ = std::move(begun); }
    [[nodiscard]] bool are_carried_out_beside() const { return begun_ != nullptr; }
    /// After a commit: settles some pages, and begins a checkpoint that is due, or makes it. Fails only if the commit does not
    /// become durable; all else that fails poisons, and the next commit will hear. If the caller waits for no device, it is begun
    /// by a later commit, which finds all records durable, unless it is far too late for that.
    result<void> begin_if_due(change::commit_scope committed, std::uint64_t pages_changed, log::durability awaited);
    /// Before a commit: carries out what is under way if it has fallen behind, and makes room for before-images. errc::readers_behind when
    /// other processes have kept the log from being reused until it was as long as it may be.
    result<void> make_room_for_before_images();
    [[nodiscard]] bool is_under_way() const { return run_ != nullptr; }
    /// Of the superblock that it writes; 0: none is under way.
    [[nodiscard]] std::uint64_t sequence_under_way() const { return run_ ? run_->what().next().sequence : 0; }
    [[nodiscard]] checkpoint_progress under_way() const;
    /// Carries out what is left of the one that is under way, if there is one.
    result<void> carry_out();
    /// The same, and adopts it.
    result<void> finish();
    void adopt_if_done() noexcept;

    // From any thread.

    /// Carries out about `bytes_max` of the one that is under way, or a sync. Whether something is left. A failure poisons.
    result<bool> step(std::uint64_t bytes_max = store::publication::k_step_bytes);
    /// Whether it will be done long before another one is due, at the pace at which both have gone so far: then who carries it
    /// out may rest.
    [[nodiscard]] bool is_ahead() const;
    /// engine_options::on_progress is not called any more: whoever gave it may be gone.
    void stop_reporting() noexcept { is_reporting_ = false; }
    /// The same for a while in which the program's own code must not be called.
    void be_silent(bool silent) noexcept { is_silent_ = silent; }

    // While nothing goes on beside.

    /// Brings all that is committed into the image and empties the log; memory keeps its changes. A failure poisons.
    /// Precondition: none is under way.
    result<void> apply_beside_changes();
    /// The last one of a session: the superblock says that the heap is clean, and the view is left as it is. A failure poisons.
    result<void> apply_at_close();
    /// Ends the one that is under way, or makes one, unless another process is at it. Before a commit that would have to write
    /// twice what no checkpoint covers.
    result<void> make_one();
    /// Until the log has room for a record of this size; errc::readers_behind likewise.
    result<void> make_room_in_log(std::uint64_t record_bytes);
    /// Calls `work` while no other process makes a checkpoint, or writes a superblock, with the heap file as of the current one.
    /// Waits for who is at it; errc::readers_behind when readers keep him from ending.
    result<void> beside_no_other(const std::function<result<void>()>& work);
    /// The same, of work that writes a superblock that names nothing new that exists.
    result<void> write_superblock(const std::function<result<void>()>& write);
    /// What make_one() would write, of pages.
    [[nodiscard]] std::uint64_t bytes_of_one() const;

    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Commits, and the like, that carried out a step of one which somebody else was to carry out, or all that was left.
    [[nodiscard]] std::uint64_t held_up() const { return held_up_; }
    /// Written by all of them.
    [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }

private:
    /// How full the log is, and the fullest of before-images, retired copies and mappings, as fractions of their limits.
    struct limits {
        double log;
        double memory;
        [[nodiscard]] double most() const { return log > memory ? log : memory; }
    };
    [[nodiscard]] limits limits_reached() const;
    /// Whether the one that is under way must end before more is committed.
    [[nodiscard]] bool must_wait() const;
    result<void> make_or_begin(change::commit_scope committed);
    result<void> poison_unless_refused(result<void> done);
    result<void> begin();
    result<void> prepare_and_begin();
    result<bool> take_from_others();
    /// Carries out what is left, unless readers in other processes have been in the way for that long: false.
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
    sharing* sharing_ = nullptr; // null, both: the heap is not shared
    share::coordination* others_ = nullptr;
    std::optional<std::chrono::steady_clock::time_point> too_long_since_; // the log, as a commit found it
    std::uint64_t count_ = 0;
    std::uint64_t held_up_ = 0;
    std::uint64_t log_limit_of_run_ = 0; // of what is under way
    std::uint64_t image_bytes_ = 0;
    std::atomic<bool> is_silent_ = false;
    std::atomic<bool> is_reporting_ = true;
    history_mover* history_ = nullptr;    // null: none is kept
    std::function<bool()> begun_;         // of who carries checkpoints out, if there is somebody
    std::atomic<double> due_again_ = 0;   // 0 when run_ began, and 1 when commits wait for it
    mutable std::mutex running_;          // guards run_ for who does not hold at_store
    std::shared_ptr<checkpoint_run> run_; // under way, or to be adopted; changed with both locks held
};

} // namespace remanence::txn
