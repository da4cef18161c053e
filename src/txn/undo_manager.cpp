#include "txn/undo_manager.hpp"

#include "base/range.hpp"
#include "txn/checkpointer.hpp"
#include "txn/committer.hpp"
#include "txn/engine_options.hpp"
#include "txn/health.hpp"
#include "txn/heap_memory.hpp"
#include "txn/parts.hpp"
#include "txn/savepoints.hpp"
#include "txn/sharing.hpp"
#include "txn/spiller.hpp"
#include "txn/transactions.hpp"

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace remanence::txn {

undo_manager::undo_manager(const history_needs& needs, std::uint64_t version)
    : needs_(needs), history_(*needs.options.history, version, needs.view, needs.store.path()) {}

result<std::unique_ptr<commit_history>> undo_manager::begin(const history_needs& needs, history_begins how) {
    const format::superblock& super = needs.store.super();
    const bool joins = how == history_begins::joining;
    auto made = std::make_unique<undo_manager>(needs, joins ? super.checkpoint_version : needs.session.version());
    heap_history& history = made->history_;
    const std::uint64_t rewritten_from = needs.options.history_rewritten_from;
    if (joins) {
        REM_TRY(history.join(needs.files, needs.store.file(), needs.names, super.uuid,
                             {super.checkpoint_version, super.chain}, needs.store.image().bytes(), rewritten_from));
    } else if (needs.options.history_kept) {
        REM_TRY(history.keep(needs.files, needs.store.file(), needs.store.image(), needs.names, super.uuid,
                             made->last_commit(), rewritten_from, how == history_begins::to_be_shared));
    }
    if (how == history_begins::to_be_shared)
        REM_TRY(history.share(made->last_commit()));
    if (joins || needs.options.history_kept)
        needs.checkpoints.move_history_by(history);
    return std::unique_ptr<commit_history>(std::move(made));
}

bool undo_manager::is_shared() const { return needs_.transactions.shared() != nullptr; }

// A commit inside a procedure would make a state durable that is only half undone.
result<void> undo_manager::may_commit() const {
    if (!is_passing_call_)
        return {};
    return fail(errc::section_open,
                "a procedure, or its inverse, was called by an undo or redo of " + needs_.store.path() +
                    ", and has committed. The undo commits by itself. Leave that to it.",
                needs_.store.path());
}

result<void> undo_manager::prepare(pending_commit& commit) {
    REM_TRY(history_.stage(commit.changes, needs_.savepoints.step()));
    is_described_ = history_.is_kept();
    if (!is_described_)
        return {};
    history_.describe_commit();
    return add_described(commit);
}

void undo_manager::accept() noexcept {
    if (is_described_)
        history_.add_events(last_commit());
    history_.accept(needs_.session.version());
}

result<void> undo_manager::read_history() {
    const std::lock_guard alone(needs_.locks.at_store);
    return history_.have_all();
}

result<void> undo_manager::let_next_commit_migrate() {
    const std::lock_guard alone(needs_.locks.at_store);
    REM_TRY(history_.have_all());
    needs_.savepoints.note_step(history::step_kind::migration);
    return {};
}

// Going to another state.

result<std::uint64_t> undo_manager::undo(std::uint64_t steps, log::durability awaited) {
    return go([=, this] { return history_.leads().after_undo(steps); }, awaited);
}

result<std::uint64_t> undo_manager::redo(std::uint64_t steps, log::durability awaited) {
    return go([=, this] { return history_.leads().after_redo(steps); }, awaited);
}

result<std::uint64_t> undo_manager::go_to(std::uint64_t version, log::durability awaited) {
    return go([=, this] { return history_.leads().state_of(version); }, awaited);
}

result<std::uint64_t> undo_manager::restore(const find_state& find, log::durability awaited) {
    return go(
        [&, this]() -> result<std::uint64_t> {
            REM_TRY(history_.leads().refuse_in_group());
            return find(history_);
        },
        awaited);
}

result<std::uint64_t> undo_manager::go(const std::function<result<std::uint64_t>()>& find, log::durability awaited) {
    std::unique_lock alone(needs_.locks.at_store);
    REM_TRY(needs_.health.usable());
    REM_TRY(history_.have_all());
    needs_.checkpoints.adopt_if_done();
    REM_TRY(begin_path(find));
    has_made_roots_ = false;
    if (keeper_ != nullptr)
        REM_TRY(keeper_->note());
    if (history_.call_on_path() != nullptr)
        return go_by_calls(alone, awaited);
    try {
        auto made = go_by_bytes(alone, awaited);
        if (!made)
            REM_TRY(stay());
        return made;
    } catch (...) {
        REM_TRY(stay());
        throw;
    }
}

result<void> undo_manager::begin_path(const std::function<result<std::uint64_t>()>& find) {
    const std::lock_guard allocation(needs_.locks.allocation);
    auto state = find();
    if (!state)
        return state.error();
    needs_.memory.allocator().flush();
    auto changed = needs_.view.collector().holds_changes(needs_.memory.unused_pages());
    if (!changed)
        return changed.error();
    if (*changed)
        return fail(errc::uncommitted,
                    "memory of " + needs_.store.path() +
                        " holds changes that are not committed, so no step can be undone or redone. Commit, or "
                        "roll back, first.",
                    needs_.store.path());
    history_.begin_path(*state);
    return history_.check_calls(run_procedure_ != nullptr && !is_shared());
}

result<std::uint64_t> undo_manager::go_by_bytes(store_lock& alone, log::durability awaited) {
    {
        const std::lock_guard allocation(needs_.locks.allocation);
        while (history_.has_next())
            REM_TRY(history_.apply_next());
    }
    REM_TRY(keep_roots(alone));
    return check_out(awaited);
}

result<std::uint64_t> undo_manager::go_by_calls(store_lock& alone, log::durability awaited) {
    const auto give_up = [&]() -> result<void> {
        history_.give_up();
        return needs_.health.is_poisoned() ? result<void>() : needs_.transactions.roll_back();
    };
    try {
        auto passed = pass_calls(alone);
        if (passed)
            passed = keep_roots(alone);
        auto made = passed ? check_out(awaited) : result<std::uint64_t>(passed.error());
        if (!made)
            REM_TRY(give_up());
        return made;
    } catch (...) { // std::bad_alloc, or an exception of the program's own code
        REM_TRY(give_up());
        throw;
    }
}

result<void> undo_manager::pass_calls(store_lock& alone) {
    while (history_.has_next()) {
        if (history_.next_call() != nullptr)
            REM_TRY(pass_call(alone));
        const std::lock_guard allocation(needs_.locks.allocation);
        REM_TRY(history_.apply_next());
        REM_TRY(needs_.memory.changed_under_allocator());
    }
    return {};
}

result<void> undo_manager::pass_call(store_lock& alone) {
    const history::procedure_call& call = *history_.next_call();
    const bool leads_back = history_.next_leads_back();
    const call_watch watched = watch_call();
    auto ran = [&] {
        const struct running {
            undo_manager& here;
            store_lock& held;
            running(undo_manager& of, store_lock& by) : here(of), held(by) {
                here.is_passing_call_ = true;
                held.unlock();
            }
            ~running() {
                held.lock();
                here.is_passing_call_ = false;
            }
        } meanwhile(*this, alone);
        return run_procedure_(call, leads_back);
    }();
    const std::string_view why = why_not(watched);
    if (!ran || why.empty())
        return ran;
    return fail(errc::no_procedure,
                "the " + std::string(leads_back ? "inverse of the " : "") + "procedure \"" + call.name +
                    "\" cannot be a step of the history of " + needs_.store.path() + ", since " + std::string(why) +
                    ". It must change bytes of blocks that are there, and nothing else.",
                needs_.store.path());
}

// Makes missing roots again in the destination state. The changes of this become a hidden step in the same commit
// (H10). The path back does not include these changes, so after a failure memory is brought back by a rollback.
result<void> undo_manager::keep_roots(store_lock& alone) {
    if (keeper_ == nullptr)
        return {};
    {
        const std::lock_guard allocation(needs_.locks.allocation);
        REM_TRY(needs_.memory.changed_under_allocator());
    }
    auto is_missing = keeper_->is_missing();
    if (!is_missing)
        return is_missing.error();
    if (!*is_missing)
        return {};
    std::optional<view::kept_pages> there;
    {
        const std::lock_guard allocation(needs_.locks.allocation);
        auto kept = needs_.savepoints.keep_written();
        if (!kept)
            return kept.error();
        there.emplace(std::move(*kept));
        needs_.spills.hold(true);
    }
    const struct held {
        spiller& by;
        ~held() { by.hold(false); }
    } unspilled{needs_.spills};
    has_made_roots_ = true;
    {
        alone.unlock();
        const struct locked_again {
            store_lock& by;
            ~locked_again() { by.lock(); }
        } meanwhile{alone};
        REM_TRY(keeper_->make());
    }
    const std::lock_guard allocation(needs_.locks.allocation);
    needs_.memory.allocator().flush();
    return history_.stage_since(*there);
}

// Commits the destination state, free pages included. Otherwise bytes that undone steps wrote to free pages would stay
// in the file.
result<std::uint64_t> undo_manager::check_out(log::durability awaited) {
    const struct kept {
        heap_memory& memory;
        explicit kept(heap_memory& of) : memory(of) { memory.keep_unused(true); }
        ~kept() { memory.keep_unused(false); }
    } meanwhile(needs_.memory);
    {
        const std::lock_guard allocation(needs_.locks.allocation);
        REM_TRY(needs_.memory.changed_under_allocator());
    }
    return needs_.transactions.repeat_with_room([&] { return try_to_check_out(awaited); });
}

// The same steps as in engine::try_to_commit().
result<std::uint64_t> undo_manager::try_to_check_out(log::durability awaited) {
    REM_TRY(needs_.transactions.finish_earlier());
    const std::lock_guard allocation(needs_.locks.allocation);
    REM_TRY(needs_.transactions.make_room_in_memory());
    auto scope = needs_.transactions.gather(commit_scope::everything);
    if (!scope)
        return scope.error();
    auto commit = needs_.transactions.prepare(*scope);
    if (!commit)
        return commit.error();
    if (!commit->record) {
        REM_TRY(check_out_without_changes());
        return needs_.transactions.conclude(*commit, awaited);
    }
    REM_TRY(history_.hold_bytes_of_path(commit->changes));
    const bool is_kept = history_.is_kept();
    if (is_kept) {
        history_.describe_checkout();
        REM_TRY(add_described(*commit));
    }
    REM_TRY(needs_.transactions.write(*commit));
    if (is_kept)
        history_.add_events(last_commit());
    history_.check_out(needs_.session.version());
    return needs_.transactions.conclude(*commit, awaited);
}

result<void> undo_manager::check_out_without_changes() {
    if (history_.is_kept() && (history_.is_elsewhere() || history_.has_staged())) {
        history_.describe_checkout();
        REM_TRY(commit_described());
    } else if (history_.has_staged()) { // the hidden step needs a version of its own
        REM_TRY(commit_nothing());
    }
    history_.check_out(needs_.session.version());
    return {};
}

// Brings memory back after a failure. Does nothing if the heap is poisoned, since then memory is not used any more.
result<void> undo_manager::stay() {
    if (needs_.health.is_poisoned())
        return {};
    if (has_made_roots_) {
        history_.give_up();
        return needs_.transactions.roll_back();
    }
    const std::lock_guard allocation(needs_.locks.allocation);
    history_.take_back();
    return needs_.memory.changed_under_allocator();
}

// Changes of the steps.

result<std::uint64_t> undo_manager::keep(std::string_view name) {
    const std::lock_guard alone(needs_.locks.at_store);
    REM_TRY(needs_.health.usable());
    REM_TRY(history_.have_all());
    auto state = history_.leads().may_keep(name);
    if (!state)
        return state;
    std::string owned(name);
    REM_TRY(change_steps([&](history::event_bytes& into) { history::step_tree::append_keeping(into, name); },
                         [&] { history_.steps().keep(std::move(owned)); }));
    return state;
}

result<void> undo_manager::drop_kept(const find_state& find) {
    const std::lock_guard alone(needs_.locks.at_store);
    REM_TRY(needs_.health.usable());
    REM_TRY(history_.have_all());
    REM_TRY(history_.leads().refuse_in_group());
    auto state = find(history_);
    if (!state)
        return state.error();
    return change_steps([&](history::event_bytes& into) { history::step_tree::append_dropping(into, *state); },
                        [&] { history_.steps().drop(*state); });
}

result<void> undo_manager::squash(std::uint64_t steps) {
    const std::lock_guard alone(needs_.locks.at_store);
    REM_TRY(needs_.health.usable());
    REM_TRY(history_.have_all());
    REM_TRY(history_.leads().may_squash(steps));
    if (steps <= 1)
        return {};
    std::list<history::delta> as_one = history_.steps().squashed(steps);
    return change_steps([&](history::event_bytes& into) { history::step_tree::append_squashing(into, steps); },
                        [&] { history_.steps().squash(steps, std::move(as_one)); });
}

result<void> undo_manager::change_steps(const std::function<void(history::event_bytes&)>& describe,
                                        const std::function<void()>& change) {
    if (!history_.is_kept()) {
        change();
        return {};
    }
    needs_.checkpoints.adopt_if_done();
    {
        const std::lock_guard allocation(needs_.locks.allocation);
        history_.describe(describe);
        REM_TRY(commit_described());
    }
    change(); // now, since the commit is in the log, even if it does not become durable
    history_.steps().check_out(history_.steps().present(), needs_.session.version());
    REM_TRY(needs_.session.await(needs_.session.version(), log::durability::durable));
    if (!is_shared())
        return {};
    const std::lock_guard allocation(needs_.locks.allocation);
    return needs_.transactions.publish(log::durability::durable, history_.differs_from_others());
}

result<void> undo_manager::forget_history() {
    const std::lock_guard alone(needs_.locks.at_store);
    REM_TRY(history_.have_all());
    if (history_.is_kept()) {
        REM_TRY(needs_.health.usable());
        needs_.checkpoints.adopt_if_done();
        const std::lock_guard allocation(needs_.locks.allocation);
        history_.describe_forgetting();
        REM_TRY(commit_described());
        REM_TRY(needs_.session.await(needs_.session.version(), log::durability::durable));
        history_.steps().forget();
        history_.steps().check_out(history_.steps().present(), needs_.session.version());
        return is_shared() ? needs_.transactions.publish(log::durability::durable, history_.differs_from_others())
                           : result<void>();
    }
    history_.steps().forget();
    return {};
}

// Commits the described events, without any change of memory.
result<void> undo_manager::commit_described() {
    REM_TRY(needs_.names.find());
    pending_commit commit{commit_scope::everything, {}};
    needs_.committer.take_record(commit);
    REM_TRY(add_described(commit));
    if (is_shared())
        needs_.transactions.shared()->protocol().begin_writing();
    REM_TRY(needs_.committer.reserve(commit));
    REM_TRY(needs_.committer.write_nothing(*commit.record));
    history_.add_events(last_commit());
    return {};
}

result<void> undo_manager::commit_nothing() {
    REM_TRY(needs_.names.find());
    pending_commit commit{commit_scope::everything, {}};
    needs_.committer.take_record(commit);
    REM_TRY(needs_.committer.reserve(commit));
    return needs_.committer.write_nothing(*commit.record);
}

// I5: reserves the space before anything is written, as for the rest of a commit.
result<void> undo_manager::add_described(pending_commit& commit) {
    needs_.committer.add_events(commit, history_.events());
    auto reserved = history_.reserve_events(
        last_commit(), [this] { return needs_.session.await(needs_.session.version(), log::durability::durable); });
    if (!reserved && reserved.why().code == errc::io)
        return needs_.health.poison(reserved.error());
    return reserved;
}

result<history::delta> undo_manager::path_to(std::uint64_t version) {
    const std::lock_guard alone(needs_.locks.at_store);
    REM_TRY(history_.have_all());
    auto state = history_.leads().any_state_of(version);
    if (!state)
        return state.error();
    return history_.steps().whole_path_to(*state, needs_.store.path());
}

// Calls of procedures.

void undo_manager::let_procedures_be_run(procedure_runner by) {
    const std::lock_guard alone(needs_.locks.at_store);
    run_procedure_ = std::move(by);
}

result<void> undo_manager::begin_call() {
    const std::lock_guard alone(needs_.locks.at_store);
    if (is_shared())
        return {};
    REM_TRY(needs_.health.usable());
    bool is_alone = false;
    {
        const std::lock_guard allocation(needs_.locks.allocation);
        needs_.memory.allocator().flush();
        auto changed = needs_.view.collector().holds_changes(needs_.memory.unused_pages());
        if (!changed)
            return changed.error();
        is_alone = !*changed;
    }
    call_ = watch_call();
    call_->is_alone = is_alone;
    return {};
}

void undo_manager::end_call(std::optional<history::procedure_call> call) {
    const std::lock_guard alone(needs_.locks.at_store);
    if (!call_)
        return;
    const call_watch watched = *std::exchange(call_, std::nullopt);
    if (why_not(watched).empty() && watched.is_alone)
        history_.note_call(std::move(call));
}

void undo_manager::forget_call() noexcept {
    const std::lock_guard alone(needs_.locks.at_store);
    if (call_)
        (void)why_not(*std::exchange(call_, std::nullopt));
    history_.note_call(std::nullopt);
}

undo_manager::call_watch undo_manager::watch_call() {
    const std::lock_guard allocation(needs_.locks.allocation);
    needs_.memory.watch_allocator();
    return {needs_.session.version(), rollbacks_, true};
}

std::string_view undo_manager::why_not(const call_watch& watched) {
    const std::lock_guard allocation(needs_.locks.allocation);
    const bool has_allocated = needs_.memory.stop_watching_allocator();
    if (needs_.session.version() != watched.version)
        return "it committed";
    if (rollbacks_ != watched.rollbacks)
        return "it rolled back";
    if (has_allocated)
        return "it allocated or freed memory of the heap";
    return {};
}

constinit const history_part k_history_part{undo_manager::begin, recover::keep_history};

} // namespace remanence::txn
