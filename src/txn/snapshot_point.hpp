// A point: a commit whose call only copies the written pages, and whose record is made later. At most one point is in
// flight.
//
// Rules kept here:
//  R1  For rollback(), the copied pages count as committed, even if no record can be made of them. Until the record
//      exists, a thread must finish the point before it compares, applies, spills or closes.
//  R4  begin() copies before it returns. finish() reads the copies and never the program's memory, so other threads may
//      write to memory while it runs.
//
// If no record can be made (no space, no memory, or a page of the file that cannot be read), the heap is not poisoned.
// An empty record gets the point's version, so no other commit has it. The copied changes count as uncommitted again,
// and are part of the next commit.
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

/// Called if the point of this version was not committed, with the reason; without one if memory was lacking. Called
/// with at_store held.
using point_listener = std::function<void(std::uint64_t version, const std::optional<failure>& why)>;

/// Callers hold at_store. For all but finish() and the const functions they hold the allocation lock, too.
class snapshot_point {
public:
    /// All must outlive this object.
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

    /// Sets how many bytes must be written for a point to be copied. For tests, which write less than the default.
    void copy_from(std::uint64_t bytes) { bytes_min_ = bytes; }
    void tell_of_failures(point_listener failed) { failed_ = std::move(failed); }

    /// Copies all changed pages, if there are enough of them, and promises the point's version. Then memory counts as
    /// committed, and finish() must be called soon. Returns that version, or the last one if nothing has changed.
    /// Returns none, and does nothing, if the commit must be made at once. A failure changes nothing; a failure of the
    /// files poisons. Precondition: no point is in flight, and committer::gather() has
    /// returned this scope.
    result<std::optional<std::uint64_t>> begin(commit_scope scope);
    /// Makes the record of the point in flight, if there is one, and passes it to the log. An error poisons. If
    /// something else prevents the record, calls the listener and returns no error.
    result<void> finish();

    [[nodiscard]] bool is_in_flight() const { return is_in_flight_; }
    /// Returns how many pages the last finished point has changed.
    [[nodiscard]] std::uint64_t pages_changed() const { return pages_changed_; }
    /// True if the last point was not committed, and no later commit was made.
    [[nodiscard]] bool has_failed() const { return copies_ && !is_in_flight_; }
    // Precondition of the rest: has_failed().

    /// After a rollback: brings memory to the failed point, whose changes count as uncommitted.
    void restore_failed();
    /// Forgets the failed point, since a later commit has its changes.
    void forget();
    /// Returns why the point has failed; none means a lack of memory.
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
    std::optional<view::page_copies> copies_;    // of the point in flight, or of one that has failed
    std::optional<log::record_builder> nothing_; // an empty record, with its memory reserved, in case the point fails
    bool is_in_flight_ = false;
    std::uint64_t pages_changed_ = 0;
    std::optional<failure> why_;
};

} // namespace remanence::txn
