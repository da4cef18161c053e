// To which state an undo, a redo or a kept version leads; or, in a sentence, why to none.
#pragma once

#include "base/result.hpp"
#include "history/missing.hpp"
#include "history/step_tree.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::history {

/// Of the steps as they are when it is asked. All fail with errc::no_step where nothing leads, and errc::section_open in a group of steps;
/// kept_state() and any_state_of() do not mind groups.
class destinations {
public:
    /// Both must outlive it; `path` is the heap's.
    destinations(const step_tree& steps, steps_lie where, const std::string& path)
        : steps_(steps), where_(where), path_(path) {}

    [[nodiscard]] result<std::uint64_t> after_undo(std::uint64_t steps) const;
    [[nodiscard]] result<std::uint64_t> after_redo(std::uint64_t steps) const;
    [[nodiscard]] result<std::uint64_t> state_of(std::uint64_t version) const;

    // Kept versions.

    [[nodiscard]] result<void> refuse_in_group() const;
    /// Returns the present state, which may be kept by this name. errc::exists: it is already, or another one has the name.
    /// errc::invalid_argument.
    [[nodiscard]] result<std::uint64_t> may_keep(std::string_view name) const;
    /// The state that is kept by this version or name.
    [[nodiscard]] result<std::uint64_t> kept_state(std::uint64_t version) const;
    [[nodiscard]] result<std::uint64_t> kept_state(std::string_view name) const;
    /// errc::invalid_argument: one of so many steps is kept, or another branch begins there.
    [[nodiscard]] result<void> may_squash(std::uint64_t steps) const;
    /// The state that has this version, kept or not.
    [[nodiscard]] result<std::uint64_t> any_state_of(std::uint64_t version) const;

private:
    [[nodiscard]] result<void> refuse_undo_in_group() const;

    const step_tree& steps_;
    const steps_lie where_;
    const std::string& path_;
};

} // namespace remanence::history
