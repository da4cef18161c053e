// Checkpoints of an open heap: decides when one is due, and makes it, either concurrently or at once.
//
// Rules kept here: I1, records are durable in the log before they are applied. R4, only the committing thread drops
// or remaps pages of the view.
//
// A page in which a commit changes one word takes 24 bytes of log, but a checkpoint writes all its 4 KiB. So a
// checkpoint is due when the log is as long as what the checkpoint would write. Then checkpoints never write more bytes
// to the image than were logged.
//
// A concurrent checkpoint is begun by a commit. Any thread carries it out, step by step; this class has no thread. Once
// it is done, it is adopted by a thread that holds the section lock. A caller that needs it done carries out the rest.
// After a checkpoint its pages are settled: the memory of their private copies is returned to the kernel, since the
// file has the same bytes.
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

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace remanence::txn {

/// Bytes of pages that a checkpoint has written, and of all that it will write. Both are 0 if none is under way.
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

    /// From now on each checkpoint first moves the history's events to their file, by `mover`, which must outlive this
    /// object.
    void move_history_by(history_mover& mover) { history_ = &mover; }

    // Concurrent checkpoints.

    /// From now on a due checkpoint is only begun, and `begun` is called. If `begun` returns true, another thread must
    /// call step() until that returns false. If `begun` returns false, the checkpoint is carried out at once.
    void let_be_carried_out(std::function<bool()> begun) { begun_ = std::move(begun); }
    [[nodiscard]] bool are_carried_out_beside() const { return begun_ != nullptr; }
    /// Called after a commit. Settles some pages. If a checkpoint is due, begins or makes it. Fails only if the commit
    /// does not become durable; any other failure poisons, and the next commit reports it. If the caller does not wait
    /// for the device, the checkpoint is left to a later commit that finds all records durable, unless the checkpoint
    /// is far overdue.
    result<void> begin_if_due(change::commit_scope committed, std::uint64_t pages_changed, log::durability awaited);
    /// Called before a commit. If the checkpoint under way is far behind, finishes it, so that there is room for more
    /// before-images. errc::readers_behind if the log has reached its maximum because other processes prevent its
    /// reuse.
    result<void> make_room_for_before_images();
    /// Makes a checkpoint due if `reached`, a fraction of a limit, is 1 or more, as a limit of before-images would; from 2
    /// on, commits wait for the checkpoint under way. Holds until a checkpoint is done.
    void ask_for_one(double reached) { asked_for_ = std::max(asked_for_, reached); }
    [[nodiscard]] bool is_under_way() const { return run_ != nullptr; }
    /// Returns the sequence of the superblock that the checkpoint under way writes; 0 if none is under way.
    [[nodiscard]] std::uint64_t sequence_under_way() const { return run_ ? run_->what().next().sequence : 0; }
    [[nodiscard]] checkpoint_progress under_way() const;
    /// Carries out the rest of the checkpoint under way, if there is one.
    result<void> carry_out();
    /// Carries out the rest of the checkpoint under way, and adopts it.
    result<void> finish();
    /// Makes the results of a checkpoint that is done known to store, view and log, and ends it.
    void adopt_if_done() noexcept;

    // For any thread.

    /// Writes about `bytes_max` bytes of the checkpoint under way, or makes one sync. Returns true if more steps are
    /// needed. A failure poisons.
    result<bool> step(std::uint64_t bytes_max = store::publication::k_step_bytes);
    /// True if the checkpoint, at the pace so far, will end long before the next one is due. Then the thread that
    /// carries it out may rest.
    [[nodiscard]] bool is_ahead() const;
    /// From now on does not call engine_options::on_progress, whose owner may be gone.
    void stop_reporting() noexcept { is_reporting_ = false; }
    /// While `silent`, does not call engine_options::on_progress, which is the program's own code.
    void be_silent(bool silent) noexcept { is_silent_ = silent; }

    // Checkpoints during which no commit runs.

    /// Makes a checkpoint at once: applies all committed records to the image and empties the log. Uncommitted changes
    /// stay in memory. A failure poisons. Precondition: no checkpoint is under way.
    result<void> apply_beside_changes();
    /// Makes the last checkpoint of a session: its superblock marks the heap clean. Does not change the view. A failure
    /// poisons.
    result<void> apply_at_close();
    /// Finishes the checkpoint under way. If there is none, makes one, unless another process is making one.
    result<void> make_one();
    /// Waits until the log has room for a record of this size. errc::readers_behind if readers in other processes
    /// prevent the log's reuse.
    result<void> make_room_in_log(std::uint64_t record_bytes);
    /// Calls `work` while no other process makes a checkpoint or writes a superblock, so the heap file stays as its
    /// current superblock says. First waits for another process's checkpoint; errc::readers_behind if that waits for
    /// readers too long.
    result<void> beside_no_other(const std::function<result<void>()>& work);
    /// As beside_no_other(). `write` may write a superblock, which must name no new content.
    result<void> write_superblock(const std::function<result<void>()>& write);
    /// Returns about how many bytes of pages make_one() would write.
    [[nodiscard]] std::uint64_t bytes_of_one() const;

    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Returns how often a commit or another call had to carry out a step or the rest of a checkpoint, because the
    /// thread that carries out checkpoints was behind.
    [[nodiscard]] std::uint64_t held_up() const { return held_up_; }
    /// Returns the bytes that all checkpoints wrote.
    [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }

private:
    /// The length of the log as a fraction of its limit, and the greatest such fraction of before-images, retired
    /// copies, mappings, and of what was asked for.
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
    /// Carries out the rest of the checkpoint under way. Returns false if it had to wait for readers in other processes
    /// for longer than `patience`.
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
    std::uint64_t log_limit_of_run_ = 0; // the log's limit when the checkpoint under way began
    std::uint64_t image_bytes_ = 0;
    double asked_for_ = 0; // by ask_for_one()
    std::atomic<bool> is_silent_ = false;
    std::atomic<bool> is_reporting_ = true;
    history_mover* history_ = nullptr;    // null: no history is kept
    std::function<bool()> begun_;         // from let_be_carried_out(); empty: no other thread carries checkpoints out
    std::atomic<double> due_again_ = 0;   // from 0 when run_ began to 1 when the next checkpoint is due
    mutable std::mutex running_;          // guards run_ for threads without at_store
    std::shared_ptr<checkpoint_run> run_; // under way, or to be adopted; changed with both locks held
};

} // namespace remanence::txn
