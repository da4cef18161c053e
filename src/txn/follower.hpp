// What other processes commit to a shared heap, followed: the store accepts what their records say, and memory becomes as if it
// had been committed here. So whoever has followed goes on as if he had been alone.
//
// Other processes make checkpoints, too. The heap file is then as their superblock says, with what was committed after it accepted
// again from the log. Memory of a view that has not fallen behind the superblock stays, else it is mapped anew.
//
// Kept here: I4, records are copied and superblocks read under a hold; memory is changed under a pin, or with the turn to write.
#pragma once

#include "base/result.hpp"
#include "history/history_file.hpp"
#include "recover/scan.hpp"
#include "share/coordination.hpp"
#include "store/heap_file.hpp"
#include "txn/session.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace remanence::txn {

/// Does to the history what other processes' commits did. Each function throws std::bad_alloc; what fails leaves it of no version.
class history_follower {
public:
    history_follower() = default;
    history_follower(const history_follower&) = delete;
    history_follower& operator=(const history_follower&) = delete;
    virtual ~history_follower() = default;
    /// The next commit.
    virtual result<void> follow(const recover::scanned_record& record) = 0;
    /// A checkpoint that covers it has passed this process: its records are gone.
    virtual result<void> follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) = 0;
    /// Another process's checkpoint covers the commits up to this one.
    virtual void note_checkpoint(std::uint64_t version) noexcept = 0;
};

/// Its functions are weak, as those of share::coordination. Callers hold both locks of the heap, nobody is in a section of it, and
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
    [[nodiscard, gnu::weak]] bool is_behind(std::uint64_t own) const;
    /// After an open: from the superblock, which is held, to what is visible.
    [[gnu::weak]] result<void> begin(const share::ruling_checkpoint& ruling);
    /// To what is visible. Precondition: that is pinned, or this process has the turn to write. After a failure memory is neither:
    /// the heap is to be poisoned. O(what was changed since); when a fold has passed this process, O(extents) besides.
    /// False, and nothing done: the own checkpoint is done, and is to be adopted before.
    [[gnu::weak]] result<bool> catch_up(std::uint64_t own);
    /// The last writer died: what it has left behind the visible commit is made durable, and followed. With the turn to write.
    /// Returns what is to be published.
    [[gnu::weak]] result<share::visible_commit> take_over();
    /// With the turn to write, and changes in memory: the heap file is as of the superblock that rules, and only that.
    [[gnu::weak]] result<void> follow_superblock();
    /// Nobody else has the heap any more: to what the files say.
    [[gnu::weak]] result<void> catch_up_alone();

    /// As of the last commit here.
    [[nodiscard, gnu::weak]] share::visible_commit state() const;
    /// The threads of this process that read, at the version of memory, stay at it whatever another process's fold up to `target`
    /// changes in the file: after that the pin may be raised. `pinned`: up to there it has been done. Of the locks of the heap
    /// callers hold the two; the precondition on sections is that nobody is in a write section.
    [[gnu::weak]] result<void> make_private(std::uint64_t pinned, std::uint64_t target);

private:
    enum class into { store_only, store_and_memory };
    result<recover::log_place> follow_superblock(const share::ruling_checkpoint& ruling);
    result<void> follow_rest(recover::log_place place, std::uint64_t log_begin);
    result<void> follow_through(const share::visible_commit& visible, recover::log_place place);
    result<recover::log_place> accept_again(const share::ruling_checkpoint& ruling, std::uint64_t through,
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

/// Whoever calls it has this and share::coordination in his program.
void link_follower() noexcept;

} // namespace remanence::txn
