#include "api/heap_commits.hpp"

#include "api/raise.hpp"

namespace remanence::detail {

namespace {

struct landing {
    std::atomic<int>& count;
    ~landing() { --count; }
};

} // namespace

log::durability heap_commits::internal(durability how) {
    switch (how) {
    case durability::lazy:
        return log::durability::lazy;
    case durability::none:
        return log::durability::none;
    case durability::durable:
        break;
    }
    return log::durability::durable;
}

// With durability::none, if much has changed, the engine only copies the changed pages. Then the syncing thread soon
// writes the log record.
heap_commits::in_flight heap_commits::make(txn::commit_scope scope, durability how) {
    const in_flight commit = make(scope, how, txn::fresh_contents::in_copy, internal(how));
    if (how == durability::none && of_.engine.is_point_in_flight(commit.version) &&
        of_.threads.start_syncer(*progress_))
        of_.threads.finish_point();
    return commit;
}

heap_commits::in_flight heap_commits::make(txn::commit_scope scope, durability how, txn::fresh_contents fresh,
                                           log::durability awaited) {
    if (of_.sections.is_doomed()) {
        raise(errc::rolled_back,
              "a nested write section of " + origin_.path.string() +
                  " failed, so the outermost one cannot be committed; its changes are rolled back.",
              origin_.path.string());
    }
    of_.sections.refuse_half_made();
    const whole_call committing(of_.calls);
    if (how == durability::lazy && !of_.threads.start_syncer(*progress_))
        how = durability::durable; // without a syncing thread, this thread must wait for the disk itself
    const auto started = std::chrono::steady_clock::now();
    const std::uint64_t before = of_.engine.version();
    of_.outdated.renew(of_.engine.memory());
    const txn::commit_order order{.scope = scope, .fresh = fresh, .awaited = awaited};
    virtual_classes* const virtuals = of_.virtuals;
    auto version = virtuals == nullptr ? of_.engine.make_commit(order) : virtuals->make_commit(order);
    if (!version)
        raise(version.why());
    if (of_.engine.is_shared()) // before another process can get the writer lock, the commit must be in the file
        check(of_.engine.publish(internal(how)));
    of_.outdated.forget();
    if (scope == txn::commit_scope::everything)
        of_.foreign.forget();
    ++in_flight_;
    const bool has_record = *version != before;
    return {has_record ? *version : progress_->last_committed(*version), how, started, has_record};
}

heap_commits::in_flight heap_commits::make_by(const step& where, durability how) {
    if (how == durability::lazy && !of_.threads.start_syncer(*progress_))
        how = durability::durable; // without a syncing thread, this thread must wait for the disk itself
    const auto started = std::chrono::steady_clock::now();
    const std::uint64_t before = of_.engine.version();
    const auto version = where(internal(how));
    if (!version)
        raise(version.why());
    if (of_.engine.is_shared())
        check(of_.engine.publish(internal(how)));
    ++in_flight_;
    return {*version, how, started, *version != before};
}

void heap_commits::await(const in_flight& commit) {
    const landing lands{in_flight_};
    check(of_.engine.await(commit.version, internal(commit.how)));
    if (commit.how == durability::lazy) {
        progress_->want(commit.version);
        of_.threads.sync_soon();
    }
    note_time(commit);
}

void heap_commits::note_time(const in_flight& commit) {
    if (!commit.has_record)
        return;
    const std::scoped_lock recording(timing_);
    times_.add(std::chrono::steady_clock::now() - commit.started);
}

latency_histogram heap_commits::times() const {
    const std::scoped_lock reading(timing_);
    return times_;
}

heap_commits::in_flight heap_commits::make_async(txn::commit_scope scope) {
    const bool is_synced = of_.threads.start_syncer(*progress_);
    const in_flight commit =
        make(scope, is_synced ? durability::lazy : durability::durable, txn::fresh_contents::in_log_if_few,
             is_synced ? log::durability::none : log::durability::durable);
    progress_->want(commit.version);
    if (commit.how == durability::lazy)
        of_.threads.sync_now();
    return commit;
}

void heap_commits::land(const in_flight& commit) noexcept {
    const landing lands{in_flight_};
    if (commit.how == durability::durable) // no background thread makes such a commit durable
        progress_->bring(of_.engine);
    note_time(commit);
}

commit_ticket heap_commits::ticket_of(const in_flight& commit) noexcept {
    commit_ticket ticket(progress_, commit.version);
    land(commit); // after this line another thread may close the heap
    return ticket;
}

} // namespace remanence::detail
