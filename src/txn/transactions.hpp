// Commit and rollback. The engine (for the program) and the history (for an undo) make a commit by calling these steps
// one after the other. Between the steps the history does its own part.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "log/redo_log.hpp"
#include "store/heap_file.hpp"
#include "txn/checkpointer.hpp"
#include "txn/committer.hpp"
#include "txn/engine_options.hpp"
#include "txn/health.hpp"
#include "txn/heap_memory.hpp"
#include "txn/reclaimer.hpp"
#include "txn/savepoints.hpp"
#include "txn/session.hpp"
#include "txn/sharing.hpp"
#include "txn/snapshot_point.hpp"
#include "txn/vptr_settler.hpp"
#include "view/memory_view.hpp"

#include <atomic>
#include <cstdint>
#include <optional>

namespace remanence::txn {

/// Which changes a commit includes, where it writes new memory, and what its caller waits for.
struct commit_order {
    commit_scope scope = commit_scope::everything;
    fresh_contents fresh = fresh_contents::in_copy;
    log::durability awaited = log::durability::durable;
};

/// Callers hold at_store. For all but begin(), finish_earlier(), repeat_with_room() and roll_back() they hold the
/// allocation lock, too.
class transactions {
public:
    /// All must outlive this object.
    transactions(heap_locks& locks, store::heap_file& store, view::memory_view& view, session& commits,
                 checkpointer& checkpoints, reclaimer& space, heap_memory& memory, savepoints& points,
                 committer& writer, snapshot_point& point, health& state)
        : locks_(locks),
          store_(store),
          view_(view),
          session_(commits),
          checkpoints_(checkpoints),
          space_(space),
          memory_(memory),
          savepoints_(points),
          committer_(writer),
          point_(point),
          health_(state) {}

    /// From now on the heap is shared. `with` must outlive this object, or at least the last commit.
    void share_with(sharing& with) { sharing_ = &with; }
    /// Returns null if the heap is not shared.
    [[nodiscard]] sharing* shared() const { return sharing_; }

    /// From now on each commit settles vptrs. `by` must outlive this object, or at least the last commit. Needs no lock.
    void settle_vptrs_by(vptr_settler& by) noexcept { vptrs_ = &by; }

    // The steps of a commit, in this order.

    /// Adopts a checkpoint that is done. Finishes the points in flight, unless this commit may be another one.
    /// errc::poisoned.
    result<void> begin(log::durability awaited);
    /// Adopts a checkpoint that is done, and finishes the points in flight. errc::poisoned.
    result<void> finish_earlier();
    /// Makes room for before-images and in the log, if a checkpoint is far overdue.
    result<void> make_room_in_memory() { return checkpoints_.make_room_for_before_images(); }
    /// As committer::gather().
    result<commit_scope> gather(commit_scope wanted);
    /// As committer::prepare(). If the returned commit has no record, skip write().
    result<pending_commit> prepare(commit_scope scope, fresh_contents fresh = fresh_contents::in_copy) {
        return committer_.prepare(scope, fresh);
    }
    /// Reserves space and writes. A lack of memory poisons: then this throws std::bad_alloc if the record is not in the
    /// log, and succeeds if it is.
    result<void> write(pending_commit& commit);
    /// Ends a commit, with or without a record, and the savepoints of the section. Begins a due checkpoint, unless the
    /// heap is shared: then publish() does that, after it has made the commit visible. Returns the heap's version.
    result<std::uint64_t> conclude(const pending_commit& commit, log::durability awaited);

    /// Runs `commit`. If the disk is full while a checkpoint is under way, finishes checkpoints, which free parts of
    /// the log and former copies of chunks, and runs `commit` again.
    template <class F>
    result<std::uint64_t> repeat_with_room(const F& commit) {
        auto made = commit();
        if (made || made.why().code != errc::no_space || !checkpoints_.is_under_way())
            return made;
        REM_TRY(make_room_in_file());
        return commit();
    }
    /// Instead of prepare() and the steps after it: begins a point, as snapshot_point::begin(). If the commit must be
    /// made at once, finishes the points in flight, and returns none.
    result<std::optional<std::uint64_t>> try_to_copy(commit_scope scope);
    /// In a shared heap: makes the last commit visible to others. `how` is how durable that commit is. Then begins a
    /// due checkpoint. If `differs` is true, because this process's history may differ from the others', it stops
    /// following them instead.
    result<void> publish(log::durability how, bool differs);

    /// Brings memory back to the last commit. Before that, calls `lost` with the changes that are lost, if there are
    /// any. Callers must not hold the allocation lock.
    result<void> roll_back(const change_listener& lost = {});
    /// Calls `listener`, unless there are no changes or only those that make a new, empty heap.
    void tell(const change_listener& listener, const change::change_set& changes);

private:
    result<void> make_room_in_file();

    heap_locks& locks_;
    store::heap_file& store_;
    view::memory_view& view_;
    session& session_;
    checkpointer& checkpoints_;
    reclaimer& space_;
    heap_memory& memory_;
    savepoints& savepoints_;
    committer& committer_;
    snapshot_point& point_;
    health& health_;
    sharing* sharing_ = nullptr;
    std::atomic<vptr_settler*> vptrs_ = nullptr; // null: the program has no virtual functions in this heap
    struct {
        commit_scope scope = commit_scope::everything;
        std::uint64_t pages = 0;
    } last_; // the size of the last commit
};

} // namespace remanence::txn
