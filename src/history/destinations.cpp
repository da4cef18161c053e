#include "history/destinations.hpp"

#include <utility>

namespace remanence::history {

result<void> destinations::refuse_undo_in_group() const {
    if (steps_.is_in_group())
        return fail(errc::section_open,
                    "a group of steps of " + path_ +
                        " is open, so no step can be undone or redone. End the group first.",
                    path_);
    return {};
}

static std::string counted(std::uint64_t steps) {
    return steps == 1 ? "one step of " : std::to_string(steps) + " steps of ";
}

result<std::uint64_t> destinations::after_undo(std::uint64_t steps) const {
    REM_TRY(refuse_undo_in_group());
    const std::uint64_t possible = steps_.undo_depth();
    if (steps <= possible)
        return steps_.before_present(steps);
    return fail(errc::no_step,
                counted(steps) + path_ + " cannot be undone: its history leads back " + std::to_string(possible) +
                    (steps_.has_migrations() ? ", and never across a migration. A version from before it that is "
                                               "kept can be restored."
                                             : "."),
                path_);
}

result<std::uint64_t> destinations::after_redo(std::uint64_t steps) const {
    REM_TRY(refuse_undo_in_group());
    const std::uint64_t possible = steps_.redo_depth();
    if (steps <= possible)
        return steps_.after_present(steps);
    std::string message = counted(steps) + path_ + " cannot be redone: ";
    const auto left = possible == 0 ? steps_.left_branch() : std::nullopt;
    if (left)
        message += "a commit after an undo began another branch. What was undone is still there: go to version " +
                   std::to_string(*left) + ".";
    else
        message += std::to_string(possible) + (possible == 1 ? " was undone." : " were undone.");
    return fail(errc::no_step, std::move(message), path_);
}

result<std::uint64_t> destinations::state_of(std::uint64_t version) const {
    REM_TRY(refuse_undo_in_group());
    const auto found = steps_.find(version);
    if (!found)
        return no_version(steps_, where_, version, path_);
    if (steps_.is_across_migration(*found))
        return fail(errc::no_step,
                    "no step leads to version " + std::to_string(version) + " of " + path_ +
                        ": a migration lies between, so its objects are of other types. " +
                        (steps_.name_of_kept(*found).empty() ? "Restore a version that is kept there first."
                                                             : "It is kept, so it can be restored."),
                    path_);
    return *found;
}

result<void> destinations::refuse_in_group() const {
    if (!steps_.is_in_group())
        return {};
    return fail(
        errc::section_open,
        "a group of steps of " + path_ +
            " is open, so no version can be kept, restored or dropped, and no steps joined. End the group first.",
        path_);
}

result<std::uint64_t> destinations::may_keep(std::string_view name) const {
    REM_TRY(refuse_in_group());
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

result<std::uint64_t> destinations::kept_state(std::uint64_t version) const {
    const auto state = steps_.find(version);
    if (state && !steps_.name_of_kept(*state).empty())
        return *state;
    if (!state)
        return no_version(steps_, where_, version, path_);
    return fail(errc::no_step,
                "version " + std::to_string(version) + " of " + path_ +
                    " is a step, not a kept version: go_to() leads there while the history has it, and there is "
                    "nothing to drop.",
                path_);
}

result<std::uint64_t> destinations::kept_state(std::string_view name) const {
    if (const auto state = steps_.find_kept(name))
        return *state;
    return no_kept_version(steps_, where_, name, path_);
}

result<void> destinations::may_squash(std::uint64_t steps) const {
    REM_TRY(refuse_in_group());
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

result<std::uint64_t> destinations::any_state_of(std::uint64_t version) const {
    const auto found = steps_.find(version);
    if (found)
        return *found;
    return no_version(steps_, where_, version, path_);
}

} // namespace remanence::history
