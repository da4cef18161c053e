// The commits of one heap. They are made with the write lock held, and synced without it (R5). Also counts how long
// commits take, and tells tickets how far commits are durable.
#pragma once

#include "api/commit_progress.hpp"
#include "api/foreign_allocators.hpp"
#include "api/heap_sections.hpp"
#include "api/heap_threads.hpp"
#include "api/outdated_roots.hpp"
#include "api/virtual_part.hpp"
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
    /// The parts of the heap that a commit uses or changes.
    struct context {
        txn::engine& engine;
        const heap_sections& sections;
        heap_threads& threads;
        whole_calls& calls;
        outdated_roots& outdated;
        foreign_allocators& foreign;
        const std::atomic<virtual_classes*>& virtuals;
    };
    /// All arguments must outlive this object; the engine only until settle().
    heap_commits(const heap_origin& origin, const context& of)
        : origin_(origin), of_(of), progress_(std::make_shared<commit_progress>(origin)) {
        of_.engine.let_points_be_told_of(
            [progress = progress_](std::uint64_t version, const std::optional<failure>& why) {
                progress->note_failed(version, why);
            });
    }

    /// A commit that has been made, but may not have the requested durability yet.
    struct in_flight {
        std::uint64_t version;
        durability how;
        std::chrono::steady_clock::time_point started;
        bool has_record; // false if nothing had changed
    };
    /// Makes a commit. The caller holds the write lock, and must call await() next. Throws if nothing is committed:
    /// errc::rolled_back after a nested section that failed, and the errors of engine::make_commit().
    [[nodiscard]] in_flight make(txn::commit_scope scope, durability how);
    /// Makes a commit with this durability, and returns its version.
    using step = std::function<result<std::uint64_t>(log::durability)>;
    /// Does the same as make(), but `where` makes the commit instead of the engine.
    [[nodiscard]] in_flight make_by(const step& where, durability how);
    /// Waits until the commit has the requested durability. Releases the lock first, if the thread is in no outer
    /// section (R5). Throws if the commit failed.
    void await(const in_flight& commit);

    /// Makes an asynchronous commit; no thread waits until it is durable. The caller holds the write lock, and must
    /// call ticket_of() next.
    [[nodiscard]] in_flight make_async(txn::commit_scope scope);
    /// Returns the ticket of that commit; to be called without the lock.
    [[nodiscard]] commit_ticket ticket_of(const in_flight& commit) noexcept;
    // These two do the same as the ticket of the commit that made this version.
    void await_durable(std::uint64_t version) const { progress_->await(version); }
    [[nodiscard]] bool is_durable(std::uint64_t version) const { return progress_->is_durable(version); }

    /// True while a commit has been made and its durability is still awaited.
    [[nodiscard]] bool are_in_flight() const noexcept { return in_flight_ != 0; }
    /// Returns how long commits with a record took, from the moment they got the lock until they returned. Any thread
    /// may call it.
    [[nodiscard]] latency_histogram times() const;
    /// Tells tickets the outcome of their commits. Not to be called in a forked child.
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
