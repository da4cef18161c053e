// Points: commits whose call only copies the written pages, and whose records are made later, in the same order.
//
// Rules kept here:
//  R1  For rollback(), the copied pages count as committed, even if no record can be made of them. Until the records
//      exist, a thread must finish the points before it compares, applies, spills or closes.
//  R4  begin() copies before it returns. step() and finish() read the copies and never the program's memory, so other
//      threads may write to memory while they run.
//
// Several points may be in flight; only the oldest is compared. Any thread that holds at_store may go on with it, and
// between two steps another thread may begin a point. So the call of a point waits for one step, unless memory is
// short.
//
// If no record can be made (no space, no memory, or a page of the file that cannot be read), the heap is not poisoned.
// All points in flight fail, since the changes of the newer ones are relative to the older ones. Empty records get
// their versions, so no other commit has them. The copied changes count as uncommitted again, and are part of the next
// commit.
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

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <utility>
#include <vector>

namespace remanence::txn {

/// Called if the point of this version was not committed, with the reason; without one if memory was lacking. Called
/// with at_store held.
using point_listener = std::function<void(std::uint64_t version, const std::optional<failure>& why)>;

/// Callers hold at_store. For all but step(), finish() and the const functions they hold the allocation lock, too.
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

    /// Sets how many bytes must be written for a point to be copied, and how many a step compares. For tests, which
    /// write less than the default.
    void copy_from(std::uint64_t bytes, std::uint64_t step_bytes) {
        bytes_min_ = bytes;
        step_bytes_ = step_bytes;
    }
    void tell_of_failures(point_listener failed) { failed_ = std::move(failed); }

    /// True if begin() may return a version. If not, the commit must be made at once.
    [[nodiscard]] bool may_begin() const;
    /// Copies all changed pages, if there are enough of them or points are in flight, and promises the point's version.
    /// Then memory counts as committed, and finish() or step() must be called soon. Finishes older points if their
    /// copies and these would be too much memory. Returns that version, or the last one if nothing has changed. Returns
    /// none, and does nothing else, if the commit must be made at once. A failure changes nothing; a failure of the
    /// files poisons. Precondition: may_begin(), and committer::gather() has returned commit_scope::everything.
    result<std::optional<std::uint64_t>> begin();
    /// Compares about 1 MiB of the oldest point in flight; if nothing of it is left, makes its record and passes it to
    /// the log. Precondition: is_in_flight(). An error poisons. If something else prevents the record, calls the
    /// listener for all points in flight and returns no error.
    result<void> step() { return advance(step_bytes_); }
    /// Makes the records of all points in flight. Fails as step() does.
    result<void> finish();
    /// As finish(), for a commit that cannot go on before. Counts the time.
    result<void> finish_for_commit();
    /// Returns how long commits have waited for older points.
    [[nodiscard]] std::chrono::nanoseconds wait() const { return wait_; }
    void note_wait(std::chrono::nanoseconds waited) { wait_ += waited; }
    /// Returns whether the next point would have to wait for the kernel's memory, unless a spare block is added first.
    [[nodiscard]] bool needs_spare() const;
    void add_spare(view::before_image_memory::block spare) { view_.committed().memory().give_back(std::move(spare)); }
    /// Returns where the file has what the next steps need, for a caller that asks the kernel to read it while no lock is
    /// held. They are hints.
    [[nodiscard]] std::vector<file_range> places_of_next_steps() const noexcept;

    [[nodiscard]] bool is_in_flight() const { return !in_flight_.empty(); }
    /// Returns how many pages the last finished point has changed.
    [[nodiscard]] std::uint64_t pages_changed() const { return pages_changed_; }
    /// True if points were not committed, and no later commit was made.
    [[nodiscard]] bool has_failed() const { return !failed_points_.empty(); }
    // Precondition of the rest: has_failed().

    /// After a rollback: brings memory to the newest failed point. The changes of all failed points count as
    /// uncommitted.
    void restore_failed();
    /// Forgets the failed points, since a later commit has their changes.
    void forget();
    /// Returns why the points have failed; none means a lack of memory.
    [[nodiscard]] const std::optional<failure>& why() const { return why_; }

private:
    struct point {
        std::uint64_t version;
        view::page_copies copies;
        log::record_builder nothing{}; // an empty record, with its memory reserved, in case the point fails
        view::compared_copies compared{};
    };
    result<void> make_room_for_copies();
    [[nodiscard]] std::uint64_t bytes_in_flight() const;
    result<void> reserve(const view::page_copies& next);
    result<void> advance(std::uint64_t bytes_max);
    result<std::optional<failure>> make(point& oldest, bool& is_writing);
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
    std::uint64_t step_bytes_ = 1 * MiB;
    point_listener failed_;
    std::list<point> in_flight_;     // oldest first
    std::list<point> failed_points_; // likewise
    std::uint64_t pages_changed_ = 0;
    std::chrono::nanoseconds wait_{};
    std::optional<failure> why_;
};

} // namespace remanence::txn
