// Versions that are kept, and steps that become one. Apart from heap_history.cpp, so that a program which only undoes does not take
// the code.

#include "txn/engine.hpp"
#include "txn/heap_history.hpp"

#include <list>
#include <mutex>
#include <string>
#include <utility>

namespace remanence::txn {

result<void> heap_history::refuse_in_group() const {
    if (!steps_.is_in_group())
        return {};
    return fail(
        errc::section_open,
        "a group of steps of " + path_ +
            " is open, so no version can be kept, restored or dropped, and no steps joined. End the group first.",
        path_);
}

result<std::uint64_t> heap_history::may_keep(std::string_view name) const {
    REM_TRY(refuse_in_group());
    REM_TRY(check_may_go());
    const std::uint64_t present = steps_.present();
    if (name.empty())
        return fail(errc::invalid_argument, "a version of " + path_ + " that is kept needs a name.", path_);
    if (const auto other = steps_.find_kept(name))
        return fail(errc::exists,
                    path_ + " keeps version " + std::to_string(*other) + " by the name \"" + std::string(name) +
                        "\" already. Take another name, or drop that version.",
                    path_);
    if (const std::string_view known = steps_.name_of_kept(present); !known.empty())
        return fail(errc::exists,
                    "this version of " + path_ + " is kept already, by the name \"" + std::string(known) + "\".",
                    path_);
    return present;
}

result<std::uint64_t> heap_history::kept_state(std::uint64_t version) const {
    const auto state = steps_.find(version);
    if (state && !steps_.name_of_kept(*state).empty())
        return *state;
    if (!state)
        return history::no_version(steps_, where_steps_lie(), version, path_);
    return fail(
        errc::no_step,
        "version " + std::to_string(version) + " of " + path_ +
            " is a step that is not kept: it can be gone to as long as it is there, and there is nothing to drop.",
        path_);
}

result<std::uint64_t> heap_history::kept_state(std::string_view name) const {
    if (const auto state = steps_.find_kept(name))
        return *state;
    return history::no_kept_version(steps_, where_steps_lie(), name, path_);
}

result<void> heap_history::may_squash(std::uint64_t steps) const {
    REM_TRY(refuse_in_group());
    REM_TRY(check_may_go());
    if (steps > steps_.undo_depth())
        return fail(errc::no_step,
                    "the last " + std::to_string(steps) + " steps of " + path_ + " cannot become one: there are " +
                        std::to_string(steps_.undo_depth()) + ".",
                    path_);
    if (const auto state = steps_.in_the_way_of_squash(steps)) {
        const std::string_view name = steps_.name_of_kept(*state);
        return fail(errc::invalid_argument,
                    "the last " + std::to_string(steps) + " steps of " + path_ + " cannot become one: version " +
                        std::to_string(*state) + " among them " +
                        (name.empty()
                             ? "is where another branch begins. Squash fewer steps."
                             : "is kept by the name \"" + std::string(name) + "\". Squash fewer steps, or drop it."),
                    path_);
    }
    return {};
}

void heap_history::describe(const std::function<void(history::event_bytes&)>& change) {
    begin_description();
    change(events_);
}

result<std::uint64_t> heap_history::any_state_of(std::uint64_t version) const {
    const auto found = steps_.find(version);
    if (found && (!steps_.has_ended() || *found == steps_.present() || !steps_.name_of_kept(*found).empty()))
        return *found;
    return history::no_version(steps_, where_steps_lie(), version, path_);
}

result<void> engine::change_steps(const std::function<void(history::event_bytes&)>& describe,
                                  const std::function<void()>& change) {
    if (!history_->is_kept()) {
        change();
        return {};
    }
    checkpoints_.adopt_if_done();
    {
        const std::lock_guard allocation(locks_.allocation);
        history_->describe(describe);
        REM_TRY(commit_described());
    }
    change(); // the commit is in the log, durable or not
    history_->steps().arrive(history_->steps().present(), session_.version());
    REM_TRY(session_.await(session_.version(), log::durability::durable));
    if (!is_shared())
        return {};
    const std::lock_guard allocation(locks_.allocation);
    return publish_locked(log::durability::durable);
}

result<std::uint64_t> engine::keep(std::string_view name) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    REM_TRY(history_->have_all());
    auto state = history_->may_keep(name);
    if (!state)
        return state;
    std::string owned(name);
    REM_TRY(change_steps([&](history::event_bytes& into) { history::step_tree::append_keeping(into, name); },
                         [&] { history_->steps().keep(std::move(owned)); }));
    return state;
}

result<void> engine::drop_kept(const find_state& find) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    REM_TRY(history_->have_all());
    REM_TRY(history_->refuse_in_group());
    auto state = find(*history_);
    if (!state)
        return state.error();
    return change_steps([&](history::event_bytes& into) { history::step_tree::append_dropping(into, *state); },
                        [&] { history_->steps().drop(*state); });
}

result<void> engine::squash(std::uint64_t steps) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    REM_TRY(history_->have_all());
    REM_TRY(history_->may_squash(steps));
    if (steps <= 1)
        return {};
    std::list<history::delta> as_one = history_->steps().squashed(steps);
    return change_steps([&](history::event_bytes& into) { history::step_tree::append_squashing(into, steps); },
                        [&] { history_->steps().squash(steps, std::move(as_one)); });
}

result<std::uint64_t> engine::restore(const find_state& find, log::durability awaited) {
    return go(
        [&, this]() -> result<std::uint64_t> {
            REM_TRY(history_->refuse_in_group());
            return find(*history_);
        },
        awaited);
}

result<history::delta> engine::way_to(std::uint64_t version) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(history_->have_all());
    auto state = history_->any_state_of(version);
    if (!state)
        return state.error();
    return history_->steps().whole_way_to(*state, path());
}

result<void> engine::become(const history::delta& way) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    {
        const std::lock_guard allocation(locks_.allocation);
        for (const heap_range& pages : way.pages()) {
            if (pages.end() > memory_.accessible_bytes())
                REM_TRY(heap_.view->memory().make_accessible(pages.end()));
            REM_TRY(heap_.view->announce(pages.offset, pages.bytes));
        }
        way.apply(heap_.view->base());
    }
    memory_.keep_unused(true); // what is there is what was there
    auto made = commit_state(log::durability::durable);
    memory_.keep_unused(false);
    if (!made)
        return made.error();
    return session_.has_begun() ? session_.await(*made, log::durability::durable) : result<void>();
}

} // namespace remanence::txn
