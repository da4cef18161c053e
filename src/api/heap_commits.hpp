// The commits of one heap: made with the write lock held, then brought to the device without it (R5). What they count, and who is
// told how far they have got.
#pragma once

#include "api/commit_progress.hpp"
#include "api/heap_sections.hpp"
#include "api/heap_threads.hpp"
#include "api/outdated_roots.hpp"
#include "api/strange_allocators.hpp"
#include "api/whole_call.hpp"
#include "txn/engine.hpp"

#include <remanence/commit_ticket.hpp>
#include <remanence/heap.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace remanence::txn {} // namespace remanence::txn

namespace remanence::detail {

class heap_commits {
public:
    /// What a commit needs of the heap, and takes along.
    struct context {
        txn::engine& engine;
        const heap_sections& sections;
        heap_threads& threads;
        whole_calls& calls;
        outdated_roots& outdated;
        strange_allocators& strangers;
    };
    /// All of it must outlive this; the engine until settle().
    heap_commits(const heap_origin& origin, const context& of)
        : origin_(origin), of_(of), progress_(std::make_shared<commit_progress>(origin)) {
        of_.engine.let_points_be_told_of(
            [progress = progress_](std::uint64_t version, const std::optional<failure>& why) {
                progress->note_failed(version, why);
            });
    }

    /// A commit that is made, and not yet known to be as durable as it is to be.
    struct in_flight {
        std::uint64_t version;
        durability how;
        std::chrono::steady_clock::time_point started;
        bool has_record; // else nothing had changed
    };
    /// With the write lock held. await() must follow. Throws when nothing is committed: errc::rolled_back after a nested section
    /// that failed, and what engine::make_commit() says.
    [[nodiscard]] in_flight make(txn::commit_scope scope, durability how);
    /// Likewise, of one that `where` makes, as durable as it is told, in place of the engine.
    using step = std::function<result<std::uint64_t>(log::durability)>;
    [[nodiscard]] in_flight make_by(const step& where, durability how);
    /// Without the lock, if the thread is in no outer section (R5). Throws when the commit failed.
    void await(const in_flight& commit);

    /// With the write lock held: makes a commit that becomes durable by itself. ticket_of() must follow.
    [[nodiscard]] in_flight make_async(txn::commit_scope scope);
    /// Without the lock.
    [[nodiscard]] commit_ticket ticket_of(const in_flight& commit) noexcept;
    // What its ticket would say of the commit of this version.
    void await_durable(std::uint64_t version) const { progress_->await(version); }
    [[nodiscard]] bool is_durable(std::uint64_t version) const { return progress_->is_durable(version); }

    /// True if some are made and not yet waited for.
    [[nodiscard]] bool are_in_flight() const noexcept { return in_flight_ != 0; }
    /// Those that had a record, from the lock held to the return. From any thread.
    [[nodiscard]] latency_histogram times() const;
    /// Tickets learn what became of their commits. Not in a forked child.
    void settle() noexcept { progress_->bring(of_.engine); }

private:
    [[nodiscard]] in_flight make(txn::commit_scope scope, durability how, txn::fresh_contents fresh,
                                 log::durability awaited);
    [[nodiscard]] static log::durability internal(durability how);
    void land(const in_flight& commit) noexcept;
    void note_time(const in_flight& commit);

    const heap_origin& origin_;
    const context of_;
    const std::shared_ptr<commit_progress> progress_; // shared with tickets
    std::atomic<int> in_flight_ = 0;
    mutable std::mutex timing_;
    latency_histogram times_; // guarded by timing_
};

} // namespace remanence::detail
