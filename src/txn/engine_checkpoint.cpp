// What gives up the log or memory's changes: checkpoint, close and rollback.

#include "txn/engine.hpp"

#include "log/recovery.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace remanence::txn {

namespace {

constexpr std::uint64_t k_limits_waited_for = 2; // so many times its limit, and a commit waits for the checkpoint
constexpr std::uint64_t k_pages_settled = 512;   // by each commit; a microsecond or two each

} // namespace

result<void> engine::checkpoint() {
    REM_TRY(usable());
    if (!log_)
        return {};
    return poisoning_without_memory([&]() -> result<void> {
        REM_TRY(finish_run());
        auto forgets = forget_unused();
        if (!forgets)
            return forgets.error();
        if (log_->used_bytes() == 0 && !*forgets)
            return {};
        auto folded = [&]() -> result<void> {
            REM_TRY(view_->settle_rest());
            REM_TRY(fold(false));
            return *forgets ? store_->discard_unstored() : result<void>();
        }();
        if (!folded)
            return poison(folded.error());
        view_->drop_twins();
        return {};
    });
}

std::vector<byte_range> engine::unused_chunks() {
    const std::uint64_t chunk = store_->chunk_bytes();
    std::vector<byte_range> found = allocator_->free_stretches(chunk, store_->image_bytes());
    for (byte_range& each : found) {
        const std::uint64_t end = align_down(each.end(), chunk);
        each.offset = align_up(each.offset, chunk);
        each.bytes = end - std::min(end, each.offset);
    }
    std::erase_if(found, [&](const byte_range& each) {
        for (std::uint64_t at = each.offset; at < each.end(); at += chunk) {
            if (store_->is_stored(at / chunk))
                return false;
        }
        return true;
    });
    return found;
}

// I8: it is left for another time when something uncommitted lies in memory, whose structures of the allocator say what is
// unused.
result<bool> engine::forget_unused() {
    const std::lock_guard allocation(allocation_);
    if (unused_chunks().empty())
        return false;
    if (auto settled = view_->settle_rest(); !settled)
        return poison(settled.error());
    auto changes = collect(commit_scope::everything);
    if (!changes)
        return changes.error();
    if (!changes->empty())
        return false;
    std::vector<byte_range> unused = unused_chunks();
    std::erase_if(unused, [&](const byte_range& each) { // I7: not on the word of one descriptor
        for (std::uint64_t page = each.offset / k_page_bytes; page < each.end() / k_page_bytes; ++page) {
            if (!allocator_->is_free_page(page))
                return true;
        }
        return false;
    });
    return forget(unused);
}

result<bool> engine::forget(const std::vector<byte_range>& stretches) {
    bool has_forgotten = false;
    for (const byte_range& stretch : stretches) {
        auto forgotten = store_->forget(stretch, version_);
        if (!forgotten)
            return poison(forgotten.error());
        for (const byte_range& chunks : *forgotten) {
            if (auto mapped = view_->forget(chunks); !mapped)
                return poison(mapped.error());
            has_forgotten = true;
        }
    }
    return has_forgotten;
}

result<void> engine::fold_and_settle(commit_scope scope) {
    REM_TRY(view_->settle_rest());
    REM_TRY(fold(false));
    REM_TRY(view_->settle(scope));
    view_->drop_twins();
    return {};
}

// Nothing else may be under way.
result<void> engine::fold(bool clean) {
    REM_TRY(await(version_, log::durability::durable)); // I1
    auto composed = store_->compose(view_->twin_pages(),
                                    {version_, chain_, store_->super().epoch, clean, format::k_log_header_bytes});
    if (!composed)
        return composed.error();
    checkpoint_run all(std::move(*composed), format::k_log_header_bytes);
    while (!all.is_done())
        REM_TRY(step(all, store::publication::k_step_bytes));
    store_->adopt(all.what());
    log_->restart();
    stats_.image_bytes += all.total_bytes();
    ++stats_.checkpoints;
    return {};
}

result<void> engine::close() {
    if (is_poisoned())
        return usable();
    if (!log_)
        return {}; // nothing was committed: the file is as it was
    return poisoning_without_memory([&]() -> result<void> {
        REM_TRY(finish_run());
        bool forgets = false;
        if (!unused_chunks().empty()) {
            REM_TRY(rollback()); // what is not committed may use some of them, or have freed others
            auto forgotten = forget_unused();
            if (!forgotten)
                return forgotten.error();
            forgets = *forgotten;
        }
        if (auto folded = fold(true); !folded)
            return poison(folded.error());
        REM_TRY(log::remove_log(files_, path()));
        // All is durable, and the heap is closed: what is left of this, the first commit of the next session does.
        auto discarded = forgets ? store_->discard_unstored() : result<void>();
        if (!discarded && discarded.why().code == errc::no_space) {
            auto why = discarded.error();
            why.why().code = errc::io; // it says that the heap is still open
            return why;
        }
        return discarded;
    });
}

bool engine::is_checkpoint_due(std::uint64_t times) const {
    return log_->used_bytes() >= times * options_.log_limit_bytes ||
           view_->twin_bytes() >= times * options_.twin_limit_bytes;
}

result<void> engine::checkpoint_if_due(commit_scope scope) {
    if (auto settled = view_->settle_some(scope, k_pages_settled); !settled) {
        (void)poison(settled.error()); // this commit is in the log; the next one will hear
        return {};
    }
    if (!is_checkpoint_due(run_ ? k_limits_waited_for : 1))
        return {};
    REM_TRY(await(version_, log::durability::durable)); // a failure is this commit's
    if (auto made = make_or_begin_checkpoint(scope); !made)
        (void)poison(made.error()); // this commit is durable; the next one will hear
    return {};
}

result<void> engine::make_or_begin_checkpoint(commit_scope scope) {
    if (!begun_)
        return fold_and_settle(scope);
    REM_TRY(finish_run());
    if (!is_checkpoint_due(1))
        return {};
    REM_TRY(begin_run());
    return begun_() ? result<void>() : finish_run();
}

result<void> engine::begin_run() {
    auto mark = log_->mark(); // I1: every record up to it is durable
    if (!mark)
        return mark.error();
    auto pages = view_->freeze();
    if (!pages)
        return pages.error();
    auto composed = store_->compose(*pages, {version_, chain_, store_->super().epoch, false, *mark});
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
    if (const std::uint64_t done = run.done_bytes(); options_.on_progress && done != before)
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
    log_->release(run_->log_begin());
    view_->thaw();
    stats_.image_bytes += run_->total_bytes();
    ++stats_.checkpoints;
    const std::lock_guard guard(running_);
    run_.reset();
}

engine::checkpoint_progress engine::checkpoint_under_way() const {
    return run_ ? checkpoint_progress{run_->done_bytes(), run_->total_bytes()} : checkpoint_progress{};
}

result<void> engine::rollback() {
    REM_TRY(usable());
    adopt_run_if_done();
    std::lock_guard allocation(allocation_);
    return poisoning_without_memory([&]() -> result<void> {
        if (auto restored = view_->rollback(); !restored)
            return poison(restored.error());
        has_other_changes_ = store_->image_bytes() == 0;
        if (has_other_changes_)
            REM_TRY(format_header()); // nothing was ever committed
        return check_allocator();
    });
}

} // namespace remanence::txn
