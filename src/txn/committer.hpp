// A commit, step by step: what changed, room for it, whole chunks, the record, and what is committed content then.
//
// Kept here:
//  I2  Whoever writes the record syncs the whole chunks that it names before: write() hands that to the log.
//  I5  reserve() makes room for everything before write() writes the first byte; what fails after that poisons.
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

/// A commit on its path from memory to the log.
struct pending_commit {
    commit_scope scope; // may be more than was asked for
    change::change_set changes;
    const view::page_copies* copies = nullptr;   // of the changed pages; null: memory has them
    std::optional<log::record_builder> record{}; // has its memory; none: nothing has changed
    std::uint64_t record_bytes = 0;
};

/// Of all commits so far.
struct commit_totals {
    std::uint64_t commits = 0;
    std::uint64_t changed_bytes = 0;
    std::uint64_t logged_bytes = 0;
    std::uint64_t image_bytes = 0; // of whole chunks
};

/// Callers hold both locks of the heap. The steps are called in this order, one commit after the other.
class committer {
public:
    /// All must outlive it.
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

    /// Finds the changes, has them inspected, looks whether the files have their names, and takes the record's memory. Changes
    /// nothing that a repeated call does not find; but a checkpoint may be made on the path.
    result<pending_commit> prepare(commit_scope scope, fresh_contents fresh);
    /// The record is to have these events of the history. Its memory is taken: throws std::bad_alloc.
    void add_events(pending_commit& commit, std::span<const std::byte> events) const;
    /// Makes room for everything that the commit, and the checkpoint after it, will write; the first commit of a session begins it. A
    /// failure changes nothing; one of the files poisons.
    result<void> reserve(const pending_commit& commit);
    /// Writes whole chunks, hands the record to the log, and takes the changes for committed content. A failure poisons.
    result<void> write(pending_commit& commit);

    // Of a commit whose changes are copied, to be found later; the allocator was flushed.

    /// Whether a commit of declared changes need not look for others.
    [[nodiscard]] bool knows_all_changes() const;
    /// So many bytes may be written twice before a checkpoint comes first.
    [[nodiscard]] std::uint64_t held_back_max() const;
    /// Takes the record's memory.
    void take_record(pending_commit& commit);
    /// Makes room for new memory, which `fresh` has alone, and for about so many bytes of a record. Fails as reserve() does.
    result<void> reserve_early(const change::change_set& fresh, std::uint64_t record_bytes);
    /// Hands the log a record of no changes, which has its memory. A failure poisons.
    result<void> write_nothing(log::record_builder& record);
    /// Everything that was written is committed, or equals what is.
    void all_is_committed();

    [[nodiscard]] const commit_totals& totals() const { return totals_; }

private:
    enum class room { now, early };
    result<change::change_set> collect(commit_scope scope, fresh_contents fresh);
    result<change::change_set> collect_everything(fresh_contents fresh);
    result<change::change_set> collect_declared(fresh_contents fresh);
    result<void> reserve_all(const change::change_set& changes, std::uint64_t record_bytes, room when);
    result<void> heard(result<void> reserved);
    result<void> reserve_whole_chunks(const change::change_set& changes);
    result<void> reserve_for_apply(const change::change_set& changes);
    /// And makes their checksums.
    result<void> write_whole_chunks(change::change_set& changes);
    [[nodiscard]] std::uint64_t image_bytes_with(const change::change_set& changes) const;
    void accept_whole_chunks(change::change_set& changes);
    /// Takes no memory: there is room.
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
