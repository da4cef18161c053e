// How what was changed ends: committed, or rolled back. Whoever makes a commit, the engine for the program or the history for an undo,
// calls these steps one after the other, and lets the history take part between them.
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
#include "view/memory_view.hpp"

#include <cstdint>

namespace remanence::txn {

/// What a commit is to take, where it puts new memory, and what its caller is going to wait for.
struct commit_order {
    commit_scope scope = commit_scope::everything;
    fresh_contents fresh = fresh_contents::in_copy;
    log::durability awaited = log::durability::durable;
};

/// Callers hold at_store; for all but finish_earlier(), repeat_with_room() and roll_back() the allocation lock, too.
class transactions {
public:
    /// All must outlive it.
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

    /// From now on the heap is shared with others. `with` must outlive this, or what is committed.
    void share_with(sharing& with) { sharing_ = &with; }
    /// Null: the heap is this process's alone.
    [[nodiscard]] sharing* shared() const { return sharing_; }

    // A commit: these, in this order.

    /// Of what earlier ones have left: a checkpoint that is carried out, a point in flight. errc::poisoned.
    result<void> finish_earlier();
    /// Before before-images of another commit come on top of those that a large one made, or a log grows beyond its bounds.
    result<void> make_room_in_memory() { return checkpoints_.make_room_for_before_images(); }
    /// As committer::prepare(): one without a record has nothing to write.
    result<pending_commit> prepare(const commit_order& order);
    /// Reserves, and writes. A lack of memory poisons: std::bad_alloc if the record is not in the log, success if it is.
    result<void> write(pending_commit& commit);
    /// Of one with or without a record. The savepoints of the section end. Begins a checkpoint that is due, but in a shared heap, where the commit is not visible yet.
    /// Returns the heap's version.
    result<std::uint64_t> conclude(const pending_commit& commit, log::durability awaited);

    /// Runs `commit`, and again if the disk was full and the checkpoint under way gives back what it lacked: parts of the log, and
    /// copies that chunks left.
    template <class F>
    result<std::uint64_t> repeat_with_room(const F& commit) {
        auto made = commit();
        if (made || made.why().code != errc::no_space || !checkpoints_.is_under_way())
            return made;
        REM_TRY(make_room_in_file());
        return commit();
    }
    /// A point that is only copied, instead of prepare() and what follows; none: it is to be made at once. As snapshot_point::begin().
    result<std::optional<std::uint64_t>> try_to_copy(commit_scope scope);
    /// Of a shared heap: the last commit is so durable, and others may see it. Then a checkpoint that is due is begun; unless this
    /// process `differs` from others, whom it cannot follow any more.
    result<void> publish(log::durability how, bool differs);

    /// Memory becomes what the last commit left. `lost` is told before, unless there is nothing. Without the allocation lock.
    result<void> roll_back(const change_listener& lost = {});
    /// Unless there are none, or they are what a new heap is made of before anything is in it.
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
    struct {
        commit_scope scope = commit_scope::everything;
        std::uint64_t pages = 0;
    } last_; // what the last commit changed
};

} // namespace remanence::txn
