// The steps of a commit: finds the changes, reserves space for them, writes whole chunks and the record, and makes the
// changes committed content.
//
// Rules kept here:
//  I2  The whole chunks that a record names are synced before the record is written: write() passes this sync to the
//      log as a prerequisite.
//  I5  reserve() reserves space for everything before write() writes the first byte. A failure after that poisons.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "log/record.hpp"
#include "store/heap_file.hpp"
#include "txn/checkpointer.hpp"
#include "txn/engine_options.hpp"
#include "txn/health.hpp"
#include "txn/heap_memory.hpp"
#include "txn/heap_names.hpp"
#include "txn/memory_budget.hpp"
#include "txn/reclaimer.hpp"
#include "txn/session.hpp"
#include "txn/spiller.hpp"
#include "view/memory_view.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace remanence::txn {

using change::commit_scope;
using change::fresh_contents;

/// A commit on its way from memory to the log.
struct pending_commit {
    commit_scope scope; // may be `everything` although the caller asked for less
    change::change_set changes;
    const view::page_copies* copies = nullptr;   // of the changed pages; null: read these from memory
    std::optional<log::record_builder> record{}; // with its memory reserved; none if nothing has changed
    std::uint64_t record_bytes = 0;
};

/// Totals of all commits.
struct commit_totals {
    std::uint64_t commits = 0;
    std::uint64_t changed_bytes = 0;
    std::uint64_t logged_bytes = 0;
    std::uint64_t image_bytes = 0; // of whole chunks
};

/// Callers hold both locks of the heap. One commit at a time calls gather(), prepare(), reserve() and write(), in this
/// order.
class committer {
public:
    /// All must outlive this object.
    committer(store::heap_file& store, view::memory_view& view, session& commits, heap_names& names,
              const memory_budget& budget, checkpointer& checkpoints, reclaimer& space, spiller& spills,
              heap_memory& memory, health& state, const engine_options& options)
        : store_(store),
          view_(view),
          session_(commits),
          names_(names),
          budget_(budget),
          checkpoints_(checkpoints),
          space_(space),
          spiller_(spills),
          memory_(memory),
          health_(state),
          options_(options) {}

    /// Makes the allocator write what it has to write, and asks the tracker which pages were written. Returns the scope
    /// of the commit: everything, unless only what was declared is wanted and every change is declared.
    result<commit_scope> gather(commit_scope scope);
    /// Finds the changes, calls engine_options::inspect for them, checks that the files still have their names, and
    /// allocates the record. A repeated call finds the same changes. May make a checkpoint.
    result<pending_commit> prepare(commit_scope scope, fresh_contents fresh);
    /// Adds these events of the history to the record. Allocates memory for them: throws std::bad_alloc.
    void add_events(pending_commit& commit, std::span<const std::byte> events) const;
    /// Reserves space for all bytes that the commit, and the checkpoint after it, will write. For the first commit of a
    /// session, begins the session. A failure changes nothing; a failure of the files poisons.
    result<void> reserve(const pending_commit& commit);
    /// Writes whole chunks, passes the record to the log, and makes the changes committed content. A failure poisons.
    result<void> write(pending_commit& commit);

    // For a commit whose pages are copied now, after gather(), and whose changes are found later.

    /// Returns how many bytes a commit may write that the next checkpoint writes again. With more, make a checkpoint
    /// before the commit.
    [[nodiscard]] std::uint64_t held_back_max() const;
    /// Allocates the record.
    void take_record(pending_commit& commit);
    /// Reserves space for the chunks in `fresh`, and for a record of about this size. Fails as reserve() does.
    result<void> reserve_early(const change::change_set& fresh, std::uint64_t record_bytes);
    /// Passes a record without changes to the log. The record's memory must be reserved. A failure poisons.
    result<void> write_nothing(log::record_builder& record);
    /// Notes that all written memory is committed or equals committed content.
    void all_is_committed();

    [[nodiscard]] const commit_totals& totals() const { return totals_; }

private:
    /// True if every change is declared, so a commit of declared changes need not look for others.
    [[nodiscard]] bool knows_all_changes() const;
    enum class room { now, early };
    result<change::change_set> collect(commit_scope scope, fresh_contents fresh);
    result<change::change_set> collect_everything(fresh_contents fresh);
    result<change::change_set> collect_declared(fresh_contents fresh);
    result<void> reserve_all(const change::change_set& changes, std::uint64_t record_bytes, room when);
    result<void> heard(result<void> reserved);
    result<void> reserve_whole_chunks(const change::change_set& changes);
    result<void> reserve_for_apply(const change::change_set& changes);
    /// Also computes the checksums of these chunks.
    result<void> write_whole_chunks(change::change_set& changes);
    [[nodiscard]] std::uint64_t image_bytes_with(const change::change_set& changes) const;
    void accept_whole_chunks(change::change_set& changes);
    /// Fills the record. Allocates nothing, since prepare() reserved the memory.
    void fill(pending_commit& commit) const;
    result<void> map_relocated(const change::change_set& changes);
    void accept(const pending_commit& commit);

    store::heap_file& store_;
    view::memory_view& view_;
    session& session_;
    heap_names& names_;
    const memory_budget& budget_;
    checkpointer& checkpoints_;
    reclaimer& space_;
    spiller& spiller_;
    heap_memory& memory_;
    health& health_;
    const engine_options& options_;
    commit_totals totals_;
};

} // namespace remanence::txn
