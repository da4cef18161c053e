// What gives up the log or memory's changes: checkpoint, close and rollback.

#include "txn/engine.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace remanence::txn {

namespace {

constexpr double k_limits_waited_for = 2;         // so many times its limit, and a commit waits for the checkpoint
constexpr std::uint64_t k_pages_settled_min = 64; // by each commit; a microsecond or two each

} // namespace

result<void> engine::checkpoint() {
    const std::lock_guard alone(at_store_);
    REM_TRY(usable());
    if (!log_)
        return {};
    REM_TRY(find_names());
    return poisoning_without_memory([&]() -> result<void> {
        REM_TRY(finish_run());
        REM_TRY(forget_unused_if_committed());
        if (log_->used_bytes() == 0 && !owes_discard_)
            return {};
        REM_TRY(fold_beside_changes());
        return discard_owed();
    });
}

result<void> engine::fold_beside_changes() {
    return poisoning_without_memory([&]() -> result<void> {
        auto folded = [&]() -> result<void> {
            REM_TRY(view_->settler().settle_rest());
            return fold(false);
        }();
        if (!folded)
            return poison(folded.error());
        view_->settler().drop_twins();
        return {};
    });
}

result<void> engine::fold_and_settle(commit_scope scope) {
    REM_TRY(view_->settler().settle_rest());
    REM_TRY(fold(false));
    REM_TRY(view_->settler().settle(scope));
    view_->settler().drop_twins();
    return {};
}

// Nothing else may be under way.
result<void> engine::fold(bool clean) {
    REM_TRY(await(version_, log::durability::durable)); // I1
    auto composed = store_->compose(view_->committed().twin_pages(),
                                    {version_, chain_, store_->session(), clean, format::k_log_header_bytes});
    if (!composed)
        return composed.error();
    checkpoint_run all(std::move(*composed), format::k_log_header_bytes);
    while (!all.is_done())
        REM_TRY(step(all, store::publication::k_step_bytes));
    store_->adopt(all.what());
    owes_former_homes_ = true;
    log_->restart();
    stats_.image_bytes += all.total_bytes();
    ++stats_.checkpoints;
    return {};
}

result<void> engine::close() {
    const std::lock_guard alone(at_store_);
    if (is_poisoned())
        return usable();
    if (!view_->spiller().spilled().is_empty())
        REM_TRY(rollback());
    if (!log_ && !options_.read_only)
        REM_TRY(check_is_linked());
    if (!log_) // nothing was committed: the file is as it was, but for what was spilled
        return spilled_bytes_ == 0 ? result<void>() : poisoning_without_memory([&] { return discard_owed(); });
    return poisoning_without_memory([&]() -> result<void> {
        auto found = find_names();
        if (is_poisoned())
            return found;
        if (!found && !check_is_linked())
            return leave_unlinked(found.error());
        REM_TRY(finish_run());
        if (!unused_chunks().empty()) {
            REM_TRY(rollback()); // what is not committed may use some of them, or have freed others
            REM_TRY(forget_unused());
        }
        if (auto folded = fold(true); !folded)
            return poison(folded.error());
        if (auto removed = remove_log(); !removed)
            return poison(removed.error());
        if (store_->has_second_homes()) {
            store_->left_all_former_homes();
            owes_discard_ = true; // for the end of the file may be one of theirs
        }
        REM_TRY(discard_owed());
        return found ? result<void>() : tell_what_is_left(found.error());
    });
}

double engine::limits_reached() const {
    const auto part = [](std::uint64_t bytes, std::uint64_t limit) {
        return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(limit, 1));
    };
    return std::max(
        {part(log_->used_bytes(), options_.log_limit_bytes), part(view_->committed().twin_bytes(), twin_limit_bytes()),
         part(store_->retired_bytes(), retired_limit_bytes()),
         part(view_->settler().chunks_mapped_with_newer(), view::memory_settler::k_chunks_mapped_with_newer_max)});
}

// As PostgreSQL spreads its checkpoints: done when half of the log that is there meanwhile is full.
bool engine::is_checkpoint_ahead() const {
    const std::lock_guard guard(running_);
    return run_ && static_cast<double>(run_->done_bytes()) >=
                       2 * due_again_ * static_cast<double>(std::max<std::uint64_t>(run_->total_bytes(), 1));
}

// Twice as many pages as are changed, so that nothing is left when the next checkpoint begins; all, where memory is short.
result<void> engine::checkpoint_if_due(commit_scope scope, std::uint64_t pages_changed) {
    const std::uint64_t pages =
        is_memory_short() ? memory_limit() / k_page_bytes : k_pages_settled_min + 2 * pages_changed;
    if (auto settled = view_->settler().settle_some(scope, pages); !settled) {
        (void)poison(settled.error()); // this commit is in the log; the next one will hear
        return {};
    }
    if (holds_too_many_unmapped() && scope == commit_scope::everything) {
        if (auto mapped = view_->settler().map_unmapped(); !mapped) {
            (void)poison(mapped.error());
            return {};
        }
    }
    if (!view_->settler().has_chunks_to_map())
        discard_former_homes();
    const double reached = limits_reached();
    due_again_ = reached - 1;
    if (reached < (run_ ? k_limits_waited_for : 1))
        return {};
    REM_TRY(await(version_, log::durability::durable)); // a failure is this commit's
    if (auto made = make_or_begin_checkpoint(scope); !made)
        (void)poison(made.error()); // this commit is durable; the next one will hear
    return {};
}

// Before twins of another commit come on top of those that a large one made.
result<void> engine::make_room_for_twins() {
    if (run_ && limits_reached() >= k_limits_waited_for)
        REM_TRY(finish_run());
    return holds_too_many_unsettled() ? view_->settler().settle_rest() : result<void>();
}

result<void> engine::make_or_begin_checkpoint(commit_scope scope) {
    if (!begun_)
        return fold_and_settle(scope);
    REM_TRY(finish_run());
    if (limits_reached() < 1)
        return {};
    due_again_ = 0;
    REM_TRY(begin_run());
    return begun_() ? result<void>() : finish_run();
}

result<void> engine::begin_run() {
    auto mark = log_->mark(); // I1: every record up to it is durable
    if (!mark)
        return mark.error();
    auto pages = view_->settler().freeze();
    if (!pages)
        return pages.error();
    auto composed = store_->compose(*pages, {version_, chain_, store_->session(), false, *mark});
    if (!composed)
        return composed.error();
    auto run = std::make_shared<checkpoint_run>(std::move(*composed), *mark);
    const std::lock_guard guard(running_);
    run_ = std::move(run);
    return {};
}

result<void> engine::step(checkpoint_run& run, std::uint64_t bytes_max) {
    const std::uint64_t before = run.done_bytes();
    REM_TRY(run.step(bytes_max));
    const bool is_heard = options_.on_progress && is_reporting_ && !is_silent_;
    if (const std::uint64_t done = run.done_bytes(); is_heard && done != before)
        options_.on_progress(engine_options::work::checkpoint, done, run.total_bytes());
    return {};
}

result<bool> engine::step_checkpoint(std::uint64_t bytes_max) {
    const auto run = [&] {
        const std::lock_guard guard(running_);
        return run_;
    }();
    if (!run || run->is_done())
        return false;
    REM_TRY(usable());
    REM_TRY(poisoning_without_memory([&]() -> result<void> {
        if (auto done = step(*run, bytes_max); !done)
            return poison(done.error());
        return {};
    }));
    return !run->is_done();
}

result<void> engine::carry_out_run() {
    for (;;) {
        auto is_left = step_checkpoint();
        if (!is_left)
            return is_left.error();
        if (!*is_left)
            return {};
    }
}

result<void> engine::finish_run() {
    REM_TRY(carry_out_run());
    adopt_run_if_done();
    return {};
}

void engine::adopt_run_if_done() noexcept {
    if (run_ && run_->is_done())
        adopt_run();
}

void engine::adopt_run() noexcept {
    store_->adopt(run_->what());
    owes_former_homes_ = true;
    log_->release(run_->log_begin());
    view_->settler().thaw();
    stats_.image_bytes += run_->total_bytes();
    ++stats_.checkpoints;
    const std::lock_guard guard(running_);
    run_.reset();
}

engine::checkpoint_progress engine::checkpoint_under_way() const {
    return run_ ? checkpoint_progress{run_->done_bytes(), run_->total_bytes()} : checkpoint_progress{};
}

void engine::tell(const change_listener& listener, const change::change_set& changes) {
    const bool is_new = store_->image_bytes() == 0 && allocator_->allocated_bytes() == 0;
    if (!is_new && !changes.empty())
        listener(*this, changes, *allocator_);
}

result<void> engine::look_at_changes(const change_listener& seen) {
    const std::lock_guard alone(at_store_);
    REM_TRY(usable());
    std::lock_guard allocation(allocation_);
    allocator_->flush();
    auto changes =
        view_->collector().uncommitted([this](std::uint64_t page) { return allocator_->is_free_page(page); });
    if (!changes)
        return changes.error();
    tell(seen, *changes);
    return {};
}

result<void> engine::rollback(const change_listener& lost) {
    const std::lock_guard alone(at_store_);
    REM_TRY(usable());
    adopt_run_if_done();
    std::lock_guard allocation(allocation_);
    return poisoning_without_memory([&]() -> result<void> {
        view::memory_view::change_listener told;
        if (lost) {
            allocator_->flush();
            told = [&](const change::change_set& changes) { tell(lost, changes); };
        }
        auto restored = view_->rollback([this](std::uint64_t page) { return allocator_->is_free_page(page); }, told);
        if (view_->spiller().has_left_homes())
            owes_discard_ = true;
        if (!restored)
            return poison(restored.error());
        has_other_changes_ = store_->image_bytes() == 0;
        if (has_other_changes_)
            REM_TRY(format_header()); // nothing was ever committed
        return check_allocator();
    });
}

} // namespace remanence::txn
