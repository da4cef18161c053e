// A commit whose call has only copied the pages that were written, and whose record is made later: one at a time.
//
// Kept here:
//  R1  What was copied is committed as far as rollback() is concerned, also when no record could be made of it: until then nobody
//      compares, applies at one go, spills or closes without having it finished.
//  R4  begin() copies before it returns. finish() looks at the copies and never at the program's memory, so that it may be called
//      while others write.
//
// A point that finds no record, for lack of space or memory or since a page of the file cannot be read, poisons nothing. Its version
// is that of an empty record, so that no other commit has it; what it copied counts as changed again, and is in the next commit.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "txn/checkpointer.hpp"
#include "txn/committer.hpp"
#include "txn/engine_options.hpp"
#include "txn/health.hpp"
#include "txn/heap_memory.hpp"
#include "txn/heap_names.hpp"
#include "txn/memory_budget.hpp"
#include "txn/reclaimer.hpp"
#include "txn/session.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace remanence::txn {

/// Hears that the point of this version was not committed, and why; nothing: for lack of memory. With the lock at_store held.
using point_listener = std::function<void(std::uint64_t version, const std::optional<failure>& why)>;

/// Callers hold at_store; for all but finish() and the questions the allocation lock, too.
class snapshot_point {
public:
    /// All must outlive it.
    snapshot_point(view::memory_view& view, session& commits, heap_names& names, const memory_budget& budget,
                   checkpointer& checkpoints, reclaimer& space, heap_memory& memory, committer& writer, health& state,
                   const engine_options& options)
        : view_(view),
          session_(commits),
          names_(names),
          budget_(budget),
          checkpoints_(checkpoints),
          space_(space),
          memory_(memory),
          committer_(writer),
          health_(state),
          options_(options) {}

    /// From so many written bytes on it is worth it: for tests, which have less.
    void copy_from(std::uint64_t bytes) { bytes_min_ = bytes; }
    void tell_of_failures(point_listener failed) { failed_ = std::move(failed); }

    /// Copies what a commit of everything would take, if that is worth it, and promises its version: memory is committed then, and
    /// finish() is to be called soon. Returns that version, or the last one when nothing has changed; none, and nothing has
    /// happened, if the commit is to be made at once. A failure changes nothing, but for one of the files, which poisons.
    /// Precondition: none is in flight, by finish().
    result<std::optional<std::uint64_t>> begin(commit_scope scope);
    /// Makes the record of the one that is in flight, if there is one, and hands it to the log. An error poisons; what else is in
    /// the way, the listener hears of.
    result<void> finish();

    [[nodiscard]] bool is_in_flight() const { return is_in_flight_; }
    /// That the last one which was finished has changed.
    [[nodiscard]] std::uint64_t pages_changed() const { return pages_changed_; }
    /// Whether the last one was not committed, and nothing was since.
    [[nodiscard]] bool has_failed() const { return copies_ && !is_in_flight_; }
    // Precondition of what follows: has_failed().

    /// After a rollback: memory becomes what it was at that one. It counts as written.
    void restore_failed();
    /// What it had copied is committed in another way.
    void forget();
    /// Why it has failed.
    [[nodiscard]] const std::optional<failure>& why() const { return why_; }

private:
    [[nodiscard]] bool may_begin(commit_scope scope) const;
    result<void> reserve(const view::page_copies& copies);
    result<std::optional<failure>> make(bool& is_writing);
    result<void> give_up(std::optional<failure> why);

    view::memory_view& view_;
    session& session_;
    heap_names& names_;
    const memory_budget& budget_;
    checkpointer& checkpoints_;
    reclaimer& space_;
    heap_memory& memory_;
    committer& committer_;
    health& health_;
    const engine_options& options_;
    std::uint64_t bytes_min_ = 1 * MiB;
    point_listener failed_;
    std::optional<view::page_copies> copies_;    // of the one in flight, or of one that has failed
    std::optional<log::record_builder> nothing_; // has its memory: the record of one that fails
    bool is_in_flight_ = false;
    std::uint64_t pages_changed_ = 0;
    std::optional<failure> why_;
};

} // namespace remanence::txn
