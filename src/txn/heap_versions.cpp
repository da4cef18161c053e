// Versions that are kept, and steps that become one. Apart from heap_history.cpp, so that a program which only undoes does not take
// the code.

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

} // namespace remanence::txn
