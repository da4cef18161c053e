// What other processes commit to a shared heap, followed: the store accepts what their records say, and memory becomes as if it
// had been committed here. So whoever has followed goes on as if he had been alone.
//
// Other processes make checkpoints, too. The heap file is then as their superblock says, with what was committed after it accepted
// again from the log. Memory of a view that has not fallen behind the superblock stays, else it is mapped anew.
//
// Kept here: I4, records are copied and superblocks read under a hold; memory is changed under a pin, or with the writer lock.
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

/// Callers hold both locks of the heap, nobody is in a section of it, and
/// nothing uncommitted is in memory.
class follower {
public:
    /// All must outlive it.
    follower(share::coordination& others, store::heap_file& store, view::memory_view& view, session& commits)
        : others_(others), store_(store), view_(view), session_(commits) {}

    /// From now on `history` hears of what is followed. It must outlive this, or what is followed.
    void tell(history_follower& history) { history_ = &history; }

    /// Whether something has been committed elsewhere, or a superblock written, that this process does not have. `own`: the sequence
    /// of the superblock that this process's own checkpoint under way writes; 0: there is none.
    [[nodiscard]] bool is_behind(std::uint64_t own) const;
    /// After an open: from the superblock, which is held, to what is visible.
    result<void> begin(const share::current_checkpoint& current);
    /// To what is visible. Precondition: that is pinned, or this process has the writer lock. After a failure memory is neither:
    /// the heap is to be poisoned. O(what was changed since); when a checkpoint has passed this process, O(extents) besides.
    /// False, and nothing done: the own checkpoint is done, and is to be adopted before.
    result<bool> catch_up(std::uint64_t own);
    /// The last writer died: what it has left behind the visible commit is made durable, and followed. With the writer lock.
    /// Returns what is to be published.
    result<share::visible_commit> take_over();
    /// With the writer lock, and changes in memory: the heap file is as of the current superblock, and only that.
    result<void> follow_superblock();
    /// Nobody else has the heap any more: to what the files say.
    result<void> catch_up_alone();

    /// As of the last commit here.
    [[nodiscard]] share::visible_commit state() const;
    /// The threads of this process that read, at the version of memory, stay at it whatever another process's apply up to `target`
    /// changes in the file: after that the pin may be raised. `pinned`: up to there it has been done. Of the locks of the heap
    /// callers hold the two; the precondition on sections is that nobody is in a write section.
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
    std::map<std::uint64_t, std::uint32_t> changed_; // pages, and the checksums that they are to have in the end
};

} // namespace remanence::txn
