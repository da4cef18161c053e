#include "txn/checkpointer.hpp"

#include "os/lock_holders.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace remanence::txn {

namespace {

// Multiples of the limits of log and memory, for commits while a checkpoint is under way. From k_limits_helped_at on,
// each commit carries out a step of the checkpoint. A commit must finish the checkpoint if memory reaches
// k_limits_helped_at, or the log k_log_limits_waited_for.
constexpr double k_limits_helped_at = 2;
constexpr double k_log_limits_waited_for = 4;
constexpr std::uint64_t k_pages_settled_min = 64; // by each commit; one page takes a microsecond or two
// The greatest length of the log, in multiples of its limit, while other processes prevent its reuse. The options may
// set another one.
constexpr std::uint64_t k_log_limits_beside_readers = 16;
// Live readers make way within this time. A commit waits this long, at most once for each checkpoint.
constexpr std::chrono::milliseconds k_moment{20};
constexpr std::chrono::seconds k_patience{2}; // how long a commit that cannot go on waits for readers before it fails
constexpr std::chrono::milliseconds k_between_attempts{1};

} // namespace

checkpointer::limits checkpointer::limits_reached() const {
    const auto part = [](std::uint64_t bytes, std::uint64_t limit) {
        return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(limit, 1));
    };
    return {part(session_.log().used_bytes(), run_ ? log_limit_of_run_ : budget_.log_limit_bytes()),
            std::max(
                {part(view_.committed().before_image_bytes(), budget_.before_image_limit_bytes()),
                 part(copies_.retired_bytes(), budget_.retired_limit_bytes()),
                 part(view_.settler().chunks_mapped_with_newer(), view::memory_settler::k_chunks_mapped_with_newer_max),
                 asked_for_})};
}

bool checkpointer::must_wait() const {
    if (!run_)
        return false;
    const limits reached = limits_reached();
    return reached.log >= k_log_limits_waited_for || reached.memory >= k_limits_helped_at;
}

// Like PostgreSQL, spreads the writes of a checkpoint over time, so that it ends when half of the log space until the
// next checkpoint is used.
bool checkpointer::is_ahead() const {
    const std::lock_guard guard(running_);
    return run_ && static_cast<double>(run_->done_bytes()) >=
                       2 * due_again_ * static_cast<double>(std::max<std::uint64_t>(run_->total_bytes(), 1));
}

// Settles twice as many pages as the commit changed, so that none is left when the next checkpoint begins. If memory is
// short, settles all.
result<void> checkpointer::begin_if_due(change::commit_scope committed, std::uint64_t pages_changed,
                                        log::durability awaited) {
    if (view_.settler().has_rest()) {
        const std::uint64_t pages =
            budget_.is_memory_short() ? budget_.memory_limit() / k_page_bytes : k_pages_settled_min + 2 * pages_changed;
        if (auto settled = view_.settler().settle_some(committed, pages); !settled) {
            (void)health_.poison(settled.error()); // this commit is in the log; the next one reports the failure
            return {};
        }
    }
    if (budget_.holds_too_many_unmapped() && committed == change::commit_scope::everything &&
        !view_.committed().has_copies()) { // otherwise memory is newer than its before-images
        if (auto mapped = view_.settler().map_unmapped(); !mapped) {
            (void)health_.poison(mapped.error());
            return {};
        }
    }
    if (space_.owes_former_copies() && !view_.settler().has_chunks_to_map())
        space_.discard_former_copies();
    const double reached = limits_reached().most();
    due_again_ = reached - 1;
    if (reached < (run_ ? k_limits_helped_at : 1) || (run_ && run_->waits_for_readers()))
        return {};
    if (run_ && !must_wait()) {
        ++held_up_;
        (void)step(); // a failure poisons; this commit is in the log, and the next one reports the failure
        return {};
    }
    if (begun_ && awaited == log::durability::none && session_.durable_through() < session_.version()) {
        if (reached < k_limits_helped_at)
            return {};
        ++held_up_;
    }
    REM_TRY(session_.await(session_.version(), log::durability::durable)); // if this fails, the commit fails
    if (auto made = make_or_begin(committed); !made && made.why().code != errc::readers_behind)
        (void)health_.poison(made.error()); // this commit is durable; the next one reports the failure
    return {};
}

result<void> checkpointer::make_room_for_before_images() {
    if (must_wait())
        REM_TRY(finish_within_a_moment());
    if (others_ != nullptr) {
        REM_TRY(make_log_whole());
        REM_TRY(keep_log_in_bounds());
    }
    return budget_.holds_too_many_unsettled() ? view_.settler().settle_rest() : result<void>();
}

// If a process began a checkpoint and died, the free log space is in two parts, and a large record may fit in neither.
// Since such a record could not be logged, no checkpoint would ever become due. So a checkpoint is made now. If another
// process is making one, or delays this one by reading, this commit does not fail.
result<void> checkpointer::make_log_whole() {
    constexpr std::uint64_t k_any_size = std::uint64_t{1} << 60;
    const auto is_whole = [&] { return !session_.has_begun() || session_.log().has_room(k_any_size); };
    if (run_ || is_whole())
        return {};
    auto mine = take_from_others();
    if (!mine || !*mine)
        return mine ? result<void>() : mine.error();
    if (auto durable = is_whole() ? result<void>() : session_.await(session_.version(), log::durability::durable);
        is_whole() || !durable) {
        others_->release_checkpoint();
        return durable;
    }
    REM_TRY(begin());
    auto made = finish();
    return made || made.why().code == errc::readers_behind ? result<void>() : made.error();
}

// Waits while the log is longer than its maximum. Live readers make way in a moment. If a process died during its
// checkpoint, make_one() finishes that checkpoint.
result<void> checkpointer::keep_log_in_bounds() {
    const std::uint64_t bytes_max =
        options_.log_bytes_max != 0 ? options_.log_bytes_max : k_log_limits_beside_readers * budget_.log_limit_bytes();
    const auto is_too_long = [&] { return session_.has_begun() && session_.log().used_bytes() >= bytes_max; };
    while (is_too_long()) {
        if (!too_long_since_)
            too_long_since_ = std::chrono::steady_clock::now();
        REM_TRY(make_one());
        if (!run_) // another process makes, or has made, a checkpoint, which must be followed first
            REM_TRY(sharing_->follow_superblock());
        session_.log().release(others_->released().log_begin);
        if (is_too_long() && std::chrono::steady_clock::now() - *too_long_since_ > k_patience)
            return readers_behind();
        if (is_too_long())
            std::this_thread::sleep_for(k_between_attempts);
    }
    too_long_since_.reset();
    return {};
}

result<void> checkpointer::make_or_begin(change::commit_scope committed) {
    if (!begun_ && others_ == nullptr)
        return apply_and_settle(committed);
    REM_TRY(finish_within_a_moment());
    if (run_ || limits_reached().most() < 1)
        return {};
    auto mine = take_from_others();
    if (!mine || !*mine)
        return mine ? result<void>() : mine.error();
    due_again_ = 0;
    REM_TRY(begin());
    return begun_ && begun_() ? result<void>() : finish_within_a_moment();
}

result<void> checkpointer::make_one() {
    if (run_ || others_ == nullptr)
        return run_ ? finish() : apply_beside_changes();
    REM_TRY(session_.await(session_.version(), log::durability::durable));
    auto mine = take_from_others();
    if (!mine || !*mine)
        return mine ? result<void>() : mine.error();
    REM_TRY(begin());
    return finish();
}

// In a shared heap, tries to acquire the checkpoint lock, without waiting. The caller must hold the writer lock.
// Returns false if another process is making a checkpoint, or has made one that must be followed first.
result<bool> checkpointer::take_from_others() {
    if (others_ == nullptr)
        return true;
    auto taken = others_->try_take_checkpoint();
    if (!taken || !*taken)
        return taken;
    auto is_mine = [&]() -> result<bool> {
        auto newest = writer_.newest_superblock();
        if (!newest)
            return newest.error();
        // Another process wrote the newest superblock, and died before it could publish it.
        if (newest->super.sequence != others_->checkpoint_sequence()) {
            REM_TRY(poison_unless_refused(writer_.confirm(newest->super)));
            others_->publish_checkpoint(
                {newest->super.sequence, newest->super.checkpoint_version, newest->super.log_begin});
        }
        if (others_->released().sequence != others_->checkpoint_sequence()) {
            if (!others_->may_release())
                return false;
            others_->release();
        }
        if (newest->super.sequence != writer_.sequence())
            return false; // the next write section follows this superblock
        session_.log().release(others_->released().log_begin);
        return true;
    }();
    if (!is_mine || !*is_mine)
        others_->release_checkpoint();
    return is_mine;
}

result<void> checkpointer::beside_no_other(const std::function<result<void>()>& work) {
    REM_TRY(finish());
    if (others_ == nullptr)
        return work();
    const auto give_up = std::chrono::steady_clock::now() + k_patience;
    for (;;) {
        auto mine = take_from_others();
        if (!mine)
            return mine.error();
        if (*mine)
            break;
        REM_TRY(sharing_->follow_superblock());
        if (std::chrono::steady_clock::now() > give_up)
            return readers_behind();
        std::this_thread::sleep_for(k_between_attempts);
    }
    auto done = work();
    others_->release_checkpoint();
    return done;
}

result<void> checkpointer::write_superblock(const std::function<result<void>()>& write) {
    return beside_no_other([&]() -> result<void> {
        const std::uint64_t before = writer_.sequence();
        REM_TRY(write());
        if (others_ == nullptr || writer_.sequence() == before)
            return {};
        others_->publish_checkpoint(
            {writer_.sequence(), others_->checkpoint().version, others_->checkpoint().log_begin});
        const auto give_up = std::chrono::steady_clock::now() + k_patience;
        while (!others_->may_release()) {
            if (std::chrono::steady_clock::now() > give_up)
                return {}; // the next checkpoint releases this superblock
            std::this_thread::sleep_for(k_between_attempts);
        }
        others_->release();
        return {};
    });
}

result<void> checkpointer::make_room_in_log(std::uint64_t record_bytes) {
    REM_TRY(finish());
    const auto give_up = std::chrono::steady_clock::now() + k_patience;
    while (others_ != nullptr &&
           !session_.log().has_room(record_bytes)) { // until another process's checkpoint has made room
        if (std::chrono::steady_clock::now() > give_up)
            return readers_behind();
        std::this_thread::sleep_for(k_between_attempts);
        session_.log().release(others_->released().log_begin);
    }
    return {};
}

unexpected checkpointer::readers_behind() const {
    const std::string& path = session_.path();
    std::string who;
    const auto add = [&](const share::participant& one, const std::string& what) {
        who += (who.empty() ? "" : ", ") + std::string("process ") + std::to_string(one.process) +
               (one.program.empty() ? "" : " (" + one.program + ")") + " " + what;
    };
    for (const share::reader& each : others_->readers()) {
        const auto age = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() - each.who.since);
        if (each.is_in_the_way)
            add(each.who,
                "reads version " + std::to_string(each.version) + " for " + std::to_string(age.count()) + " s");
    }
    if (const auto at_checkpoint = others_->checkpointer())
        add(*at_checkpoint, "carries out a checkpoint");
    for (const os::lock_holder& each : os::lock_holders(path))
        if (each.reader_lock)
            add({.process = each.process, .program = each.name}, "reads as a guest");
    return fail(errc::readers_behind,
                "cannot commit to " + path +
                    ": the redo log has reached its limit, since other processes that do not go on keep it from "
                    "being reused (" +
                    (who.empty() ? "none is in the way now" : who) +
                    "). Let them go on, or end them, and commit again.",
                path);
}

// I5: a failed sync must not be repeated, so after it no other checkpoint can be made. A call that was refused
// (is_refusal()) has done nothing, so it may be repeated.
result<void> checkpointer::poison_unless_refused(result<void> done) {
    return done || is_refusal(done.why().code) ? std::move(done) : health_.poison_if_failed(std::move(done));
}

result<void> checkpointer::begin() { return poison_unless_refused(prepare_and_begin()); }

// If prepare() is refused, for example for lack of space, the next commit that finds a checkpoint due tries again.
result<void> checkpointer::prepare_and_begin() {
    if (auto prepared = prepare(); !prepared) {
        if (others_ != nullptr)
            others_->release_checkpoint();
        return is_refusal(prepared.why().code) ? result<void>() : std::move(prepared);
    }
    log_limit_of_run_ = budget_.log_limit_bytes(); // computed from the before-images, so before these are frozen
    auto mark = session_.log().mark();             // I1: every record before the mark is durable
    if (!mark)
        return mark.error();
    if (others_ != nullptr) {
        REM_TRY(writer_.confirm());
        sharing_->publish(); // since the place of the next record may have changed
        others_->declare_apply(session_.version());
    }
    auto history = move_history(false);
    if (!history)
        return history.error();
    auto pages = view_.settler().freeze();
    if (!pages)
        return pages.error();
    auto composed = writer_.compose(*pages, session_.state(false, *mark));
    if (!composed)
        return composed.error();
    auto run = std::make_shared<checkpoint_run>(std::move(*composed), *mark, others_, *history);
    const std::lock_guard guard(running_);
    run_ = std::move(run);
    return {};
}

// Reserves room in the chunk map: other processes' commits, which this one only followed, may have moved more chunks
// than the map has room for.
result<void> checkpointer::prepare() {
    REM_TRY(room_.reserve_map(0));
    return history_ == nullptr ? result<void>() : history_->prepare_to_move();
}

// H6: moves the history's events. Returns the mover if its sync() must be called, else null.
result<history_mover*> checkpointer::move_history(bool is_clean) {
    if (history_ == nullptr)
        return history_;
    auto moved = history_->move(is_clean);
    if (!moved)
        return moved.error();
    return *moved ? history_ : nullptr;
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
    auto done = health_.poisoning_without_memory([&] { return health_.poison_if_failed(step_of(*run, bytes_max)); });
    if (done)
        return !run->is_done();
    if (others_ != nullptr)
        others_->poison();
    return done.error();
}

result<void> checkpointer::carry_out() {
    auto is_done = carry_out_within(k_patience);
    if (!is_done)
        return is_done.error();
    return *is_done ? result<void>() : readers_behind();
}

result<bool> checkpointer::carry_out_within(std::chrono::nanoseconds patience) {
    do {
        auto is_left = step();
        if (!is_left)
            return is_left.error();
        if (!*is_left)
            return true;
    } while (!run_ || run_->waited() <= patience);
    return false;
}

// Waits k_moment for readers, once for each checkpoint: a reader that has not made way by then may be stopped.
result<void> checkpointer::finish_within_a_moment() {
    if (run_ && run_->waited() > k_moment)
        return {};
    if (run_ && !run_->is_done())
        ++held_up_;
    auto is_done = carry_out_within(k_moment);
    if (!is_done)
        return is_done.error();
    adopt_if_done();
    return {};
}

result<void> checkpointer::finish() {
    if (run_ && !run_->is_done())
        ++held_up_;
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
    space_.owe_former_copies();
    session_.log().release(run_->log_begin());
    view_.settler().thaw();
    image_bytes_ += run_->total_bytes();
    asked_for_ = 0;
    ++count_;
    const std::lock_guard guard(running_);
    run_.reset();
}

checkpoint_progress checkpointer::under_way() const {
    return run_ ? checkpoint_progress{run_->done_bytes(), run_->total_bytes()} : checkpoint_progress{};
}

result<void> checkpointer::apply_beside_changes() {
    return health_.poisoning_without_memory([&]() -> result<void> {
        auto applied = [&]() -> result<void> {
            REM_TRY(view_.settler().settle_rest());
            return apply(false);
        }();
        if (!applied)
            return health_.poison(applied.error());
        view_.settler().drop_before_images();
        return {};
    });
}

result<void> checkpointer::apply_and_settle(change::commit_scope committed) {
    REM_TRY(view_.settler().settle_rest());
    REM_TRY(apply(false));
    REM_TRY(view_.settler().settle(committed));
    view_.settler().drop_before_images();
    return {};
}

result<void> checkpointer::apply_at_close() {
    REM_TRY(prepare());
    return health_.poison_if_failed(apply(true));
}

std::uint64_t checkpointer::bytes_of_one() const {
    // The rest of the checkpoint under way will be written in any case, so waiting for it costs less than making a new
    // checkpoint. Therefore half of its bytes are counted.
    return run_ ? (run_->total_bytes() - run_->done_bytes()) / 2 : view_.committed().before_image_bytes();
}

result<void> checkpointer::apply(bool is_clean) {
    REM_TRY(session_.await(session_.version(), log::durability::durable)); // I1
    auto history = move_history(is_clean);
    if (!history)
        return history.error();
    auto composed =
        writer_.compose(view_.committed().before_image_pages(), session_.state(is_clean, format::k_log_header_bytes));
    if (!composed)
        return composed.error();
    checkpoint_run all(std::move(*composed), format::k_log_header_bytes, nullptr, *history);
    while (!all.is_done())
        REM_TRY(step_of(all, store::publication::k_step_bytes));
    writer_.adopt(all.what());
    space_.owe_former_copies();
    session_.log().restart();
    image_bytes_ += all.total_bytes();
    asked_for_ = 0;
    ++count_;
    return {};
}

} // namespace remanence::txn
