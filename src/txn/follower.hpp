// In a shared heap, applies other processes' commits to the store and the memory of this process. After that, both are
// as if this process had made the commits.
//
// Other processes make checkpoints, too. Then the store changes to their superblock, and applies the later records of
// the log again. Memory that is as new as the superblock is kept; older memory is mapped anew.
//
// Rule kept here: I4, records are copied and superblocks read under a hold; memory is changed under a pin, or with
// the writer lock.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "recover/scan.hpp"
#include "share/coordination.hpp"
#include "store/heap_file.hpp"
#include "txn/session.hpp"
#include "txn/sharing.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace remanence::txn {

/// While this object exists, neither the superblock that was current at its construction nor the log from that
/// superblock's `log_begin` on is overwritten. A process has one at a time.
class held_superblock {
public:
    explicit held_superblock(share::coordination& others) : others_(others), current_(others.hold()) {}
    held_superblock(const held_superblock&) = delete;
    held_superblock& operator=(const held_superblock&) = delete;
    ~held_superblock() { others_.let_go(); }
    [[nodiscard]] const share::current_checkpoint& current() const { return current_; }

private:
    share::coordination& others_;
    const share::current_checkpoint current_;
};

/// The commits that a follower is about to apply, with the places that they change.
class commits_ahead {
public:
    explicit commits_ahead(share::coordination& others) : visible_(others.commit()), hold_(others) {}

    [[nodiscard]] const share::current_checkpoint& current() const { return hold_.current(); }
    [[nodiscard]] const share::visible_commit& visible() const { return visible_; }
    [[nodiscard]] const std::vector<recover::scanned_record>& records() const { return records_; }
    /// Returns the place behind the records.
    [[nodiscard]] const recover::log_place& end() const { return end_; }
    /// Returns the pages and whole chunks that the records change, sorted.
    [[nodiscard]] const std::vector<heap_range>& places() const { return places_; }
    /// Reads the records behind `at`. Returns false if one is missing or not well-formed, or if they have many bytes.
    bool read(os::file& log, const store::heap_file& store, recover::log_place at);

private:
    const share::visible_commit visible_; // before the hold, so it needs no newer superblock
    const held_superblock hold_;
    std::vector<recover::scanned_record> records_;
    recover::log_place end_{};
    std::vector<heap_range> places_;
};

/// Callers hold both locks of the heap. No thread is in a section of it, and memory has no uncommitted changes.
class follower {
public:
    /// All must outlive this object.
    follower(share::coordination& others, store::heap_file& store, view::memory_view& view, session& commits)
        : others_(others), store_(store), view_(view), session_(commits) {}

    /// From now on calls `history` for each commit that is followed. `history` must outlive this object's last use.
    void tell(history_follower& history) { history_ = &history; }

    /// True if another process has made a commit, or written a superblock, that this process has not followed. `own`
    /// is the sequence of the superblock that this process's own checkpoint is writing; 0 if no such checkpoint is
    /// under way.
    [[nodiscard]] bool is_behind(std::uint64_t own) const;
    /// Reads what catch_up() will apply, which then changes memory in the returned places only. Returns null if that is
    /// not known before: a checkpoint is passed or under way, or much was committed. The caller must then call
    /// catch_up() or forget_ahead() before it releases the locks.
    const std::vector<heap_range>* read_ahead(std::uint64_t own);
    void forget_ahead() noexcept { ahead_.reset(); }
    /// After an open: follows from the held superblock `current` to the visible commit.
    result<void> begin(const share::current_checkpoint& current);
    /// Follows to the visible commit. Returns false, and does nothing, if this process's own checkpoint is done and
    /// must be adopted first. Precondition: the visible version is pinned, or this process holds the writer lock. After
    /// a failure, parts of memory may be of different versions, so the caller must poison the heap. O(changes since);
    /// plus O(extents) if a checkpoint has passed the version of memory.
    result<bool> catch_up(std::uint64_t own);
    /// Takes over from a writer that died: makes the records that it left after the visible commit durable, and follows
    /// them. Returns the commit to publish. The caller must hold the writer lock.
    result<share::visible_commit> take_over();
    /// Brings only the store to the current superblock, and leaves memory alone, which may have uncommitted changes.
    /// The caller must hold the writer lock.
    result<void> follow_superblock();
    /// Follows to the last commit in the files. Precondition: no other process has the heap open any more.
    result<void> catch_up_alone();

    /// Returns the last commit that this process has made or followed.
    [[nodiscard]] share::visible_commit state() const;
    /// Makes private copies of all pages that another process's checkpoint up to `target` will change, so that threads
    /// that read here keep their version. Then the pin may be raised to `target`. For the commits up to `pinned` such
    /// copies exist already. Callers hold both locks of the heap; no thread is in a write section.
    result<void> make_private(std::uint64_t pinned, std::uint64_t target);

private:
    enum class into { store_only, store_and_memory };
    result<recover::log_place> follow_superblock(const share::current_checkpoint& current);
    result<void> follow_rest(recover::log_place place, std::uint64_t log_begin);
    result<void> follow_ahead();
    result<void> follow_through(const share::visible_commit& visible, recover::log_place place);
    result<recover::log_place> accept_again(const share::current_checkpoint& current, std::uint64_t through,
                                            std::vector<std::uint64_t>* newer);
    result<void> apply(const recover::scanned_record& record, into where);
    result<void> end();
    result<void> check_changed();
    [[nodiscard]] recover::log_place place() const;
    [[nodiscard]] unexpected lacks_record(std::uint64_t version);

    share::coordination& others_;
    store::heap_file& store_;
    view::memory_view& view_;
    session& session_;
    std::optional<commits_ahead> ahead_;
    history_follower* history_ = nullptr; // null: the heap has no history
    std::map<std::uint64_t, std::uint32_t>
        changed_; // pages, with the checksums that they must have after the last record
};

} // namespace remanence::txn
