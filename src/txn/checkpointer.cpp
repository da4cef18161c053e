#include "txn/checkpointer.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace remanence::txn {

namespace {

constexpr double k_limits_waited_for = 2;         // so many times its limit, and a commit waits for the checkpoint
constexpr std::uint64_t k_pages_settled_min = 64; // by each commit; a microsecond or two each

} // namespace

double checkpointer::limits_reached() const {
    const auto part = [](std::uint64_t bytes, std::uint64_t limit) {
        return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(limit, 1));
    };
    return std::max(
        {part(session_.log().used_bytes(), options_.log_limit_bytes),
         part(view_.committed().twin_bytes(), budget_.twin_limit_bytes()),
         part(homes_.retired_bytes(), budget_.retired_limit_bytes()),
         part(view_.settler().chunks_mapped_with_newer(), view::memory_settler::k_chunks_mapped_with_newer_max)});
}

// As PostgreSQL spreads its checkpoints: done when half of the log that is there meanwhile is full.
bool checkpointer::is_ahead() const {
    const std::lock_guard guard(running_);
    return run_ && static_cast<double>(run_->done_bytes()) >=
                       2 * due_again_ * static_cast<double>(std::max<std::uint64_t>(run_->total_bytes(), 1));
}

// Twice as many pages as are changed, so that nothing is left when the next checkpoint begins; all, where memory is short.
result<void> checkpointer::begin_if_due(change::commit_scope committed, std::uint64_t pages_changed) {
    const std::uint64_t pages =
        budget_.is_memory_short() ? budget_.memory_limit() / k_page_bytes : k_pages_settled_min + 2 * pages_changed;
    if (auto settled = view_.settler().settle_some(committed, pages); !settled) {
        (void)health_.poison(settled.error()); // this commit is in the log; the next one will hear
        return {};
    }
    if (budget_.holds_too_many_unmapped() && committed == change::commit_scope::everything) {
        if (auto mapped = view_.settler().map_unmapped(); !mapped) {
            (void)health_.poison(mapped.error());
            return {};
        }
    }
    if (!view_.settler().has_chunks_to_map())
        space_.discard_former_homes();
    const double reached = limits_reached();
    due_again_ = reached - 1;
    if (reached < (run_ ? k_limits_waited_for : 1))
        return {};
    REM_TRY(session_.await(session_.version(), log::durability::durable)); // a failure is this commit's
    if (auto made = make_or_begin(committed); !made)
        (void)health_.poison(made.error()); // this commit is durable; the next one will hear
    return {};
}

// Before twins of another commit come on top of those that a large one made.
result<void> checkpointer::make_room_for_twins() {
    if (run_ && limits_reached() >= k_limits_waited_for)
        REM_TRY(finish());
    return budget_.holds_too_many_unsettled() ? view_.settler().settle_rest() : result<void>();
}

result<void> checkpointer::make_or_begin(change::commit_scope committed) {
    if (!begun_)
        return fold_and_settle(committed);
    REM_TRY(finish());
    if (limits_reached() < 1)
        return {};
    due_again_ = 0;
    REM_TRY(begin());
    return begun_() ? result<void>() : finish();
}

result<void> checkpointer::begin() {
    auto mark = session_.log().mark(); // I1: every record up to it is durable
    if (!mark)
        return mark.error();
    auto pages = view_.settler().freeze();
    if (!pages)
        return pages.error();
    auto composed = writer_.compose(*pages, session_.state(false, *mark));
    if (!composed)
        return composed.error();
    auto run = std::make_shared<checkpoint_run>(std::move(*composed), *mark);
    const std::lock_guard guard(running_);
    run_ = std::move(run);
    return {};
}

result<void> checkpointer::step_of(checkpoint_run& run, std::uint64_t bytes_max) {
    const std::uint64_t before = run.done_bytes();
    REM_TRY(run.step(bytes_max));
    const bool is_heard = options_.on_progress && is_reporting_ && !is_silent_;
    if (const std::uint64_t done = run.done_bytes(); is_heard && done != before)
        options_.on_progress(engine_options::work::checkpoint, done, run.total_bytes());
    return {};
}

result<bool> checkpointer::step(std::uint64_t bytes_max) {
    const auto run = [&] {
        const std::lock_guard guard(running_);
        return run_;
    }();
    if (!run || run->is_done())
        return false;
    REM_TRY(health_.usable());
    REM_TRY(health_.poisoning_without_memory([&] { return health_.poison_if_failed(step_of(*run, bytes_max)); }));
    return !run->is_done();
}

result<void> checkpointer::carry_out() {
    for (;;) {
        auto is_left = step();
        if (!is_left)
            return is_left.error();
        if (!*is_left)
            return {};
    }
}

result<void> checkpointer::finish() {
    REM_TRY(carry_out());
    adopt_if_done();
    return {};
}

void checkpointer::adopt_if_done() noexcept {
    if (run_ && run_->is_done())
        adopt();
}

void checkpointer::adopt() noexcept {
    writer_.adopt(run_->what());
    space_.owe_former_homes();
    session_.log().release(run_->log_begin());
    view_.settler().thaw();
    image_bytes_ += run_->total_bytes();
    ++count_;
    const std::lock_guard guard(running_);
    run_.reset();
}

checkpoint_progress checkpointer::under_way() const {
    return run_ ? checkpoint_progress{run_->done_bytes(), run_->total_bytes()} : checkpoint_progress{};
}

result<void> checkpointer::fold_beside_changes() {
    return health_.poisoning_without_memory([&]() -> result<void> {
        auto folded = [&]() -> result<void> {
            REM_TRY(view_.settler().settle_rest());
            return fold(false);
        }();
        if (!folded)
            return health_.poison(folded.error());
        view_.settler().drop_twins();
        return {};
    });
}

result<void> checkpointer::fold_and_settle(change::commit_scope committed) {
    REM_TRY(view_.settler().settle_rest());
    REM_TRY(fold(false));
    REM_TRY(view_.settler().settle(committed));
    view_.settler().drop_twins();
    return {};
}

result<void> checkpointer::fold_at_close() { return health_.poison_if_failed(fold(true)); }

std::uint64_t checkpointer::bytes_of_one() const {
    // One that is under way is going to be written anyway, and is waited for if that takes about as long as a commit.
    return run_ ? (run_->total_bytes() - run_->done_bytes()) / 2 : view_.committed().twin_bytes();
}

result<void> checkpointer::fold(bool is_clean) {
    REM_TRY(session_.await(session_.version(), log::durability::durable)); // I1
    auto composed =
        writer_.compose(view_.committed().twin_pages(), session_.state(is_clean, format::k_log_header_bytes));
    if (!composed)
        return composed.error();
    checkpoint_run all(std::move(*composed), format::k_log_header_bytes);
    while (!all.is_done())
        REM_TRY(step_of(all, store::publication::k_step_bytes));
    writer_.adopt(all.what());
    space_.owe_former_homes();
    session_.log().restart();
    image_bytes_ += all.total_bytes();
    ++count_;
    return {};
}

} // namespace remanence::txn
