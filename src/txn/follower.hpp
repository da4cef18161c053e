// Follows what other processes commit to a shared heap. The store accepts what their records say, and memory becomes
// as if it had been committed here. So the process goes on as if it had been alone.
//
// Other processes make checkpoints, too. Then the heap file becomes as their superblock says, and later commits are
// accepted again from the log. The view's memory stays if it has not fallen behind the superblock; otherwise it is
// mapped anew.
//
// Rule kept here: I4, records are copied and superblocks read under a hold; memory is changed under a pin, or with
// the writer lock.
#pragma once

#include "base/result.hpp"
#include "recover/scan.hpp"
#include "share/coordination.hpp"
#include "store/heap_file.hpp"
#include "txn/session.hpp"
#include "txn/sharing.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace remanence::txn {

/// Callers hold both locks of the heap. No thread is in a section of it, and memory has no uncommitted changes.
class follower {
public:
    /// All must outlive this object.
    follower(share::coordination& others, store::heap_file& store, view::memory_view& view, session& commits)
        : others_(others), store_(store), view_(view), session_(commits) {}

    /// From now on tells `history` what is followed. It must outlive this object, or its last use.
    void tell(history_follower& history) { history_ = &history; }

    /// True if another process has committed, or written a superblock, that this process does not have. `own` is the
    /// sequence of the superblock that this process's own checkpoint under way writes; 0: there is none.
    [[nodiscard]] bool is_behind(std::uint64_t own) const;
    /// After an open: follows from the held superblock `current` to the visible commit.
    result<void> begin(const share::current_checkpoint& current);
    /// Follows to the visible commit. Returns false, and does nothing, if this process's own checkpoint is done and
    /// must be adopted first. Precondition: the visible version is pinned, or this process has the writer lock. After
    /// a failure memory has no version: poison the heap. O(what was changed since); plus O(extents) if a checkpoint
    /// has passed this process.
    result<bool> catch_up(std::uint64_t own);
    /// Takes over from a writer that died: makes durable what it left behind the visible commit, and follows it.
    /// Returns what to publish. The caller has the writer lock.
    result<share::visible_commit> take_over();
    /// Brings the heap file, and only that, to the current superblock. Memory may have changes. The caller has the
    /// writer lock.
    result<void> follow_superblock();
    /// Follows to what the files say. No other process has the heap any more.
    result<void> catch_up_alone();

    /// Returns the state after the last commit here.
    [[nodiscard]] share::visible_commit state() const;
    /// Copies what another process's checkpoint up to `target` is going to change, for the threads of this process
    /// that read: they keep the version of memory. After that the pin may be raised. Up to `pinned` it has been done.
    /// Callers hold both locks of the heap; no thread is in a write section.
    result<void> make_private(std::uint64_t pinned, std::uint64_t target);

private:
    enum class into { store_only, store_and_memory };
    result<recover::log_place> follow_superblock(const share::current_checkpoint& current);
    result<void> follow_rest(recover::log_place place, std::uint64_t log_begin);
    result<void> follow_through(const share::visible_commit& visible, recover::log_place place);
    result<recover::log_place> accept_again(const share::current_checkpoint& current, std::uint64_t through,
                                            std::vector<std::uint64_t>* newer);
    result<void> apply(const recover::scanned_record& record, into where);
    result<void> end();
    [[nodiscard]] recover::log_place place() const;
    [[nodiscard]] unexpected lacks_record(std::uint64_t version);

    share::coordination& others_;
    store::heap_file& store_;
    view::memory_view& view_;
    session& session_;
    history_follower* history_ = nullptr;            // null: the heap has none
    std::map<std::uint64_t, std::uint32_t> changed_; // pages, with the checksums that they must have in the end
};

} // namespace remanence::txn
