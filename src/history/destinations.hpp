// Finds the state that an undo or redo leads to, or that is kept. If there is no such state, the error says why.
#pragma once

#include "base/result.hpp"
#include "history/missing.hpp"
#include "history/step_tree.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::history {

/// Each call reads the steps as they are then. All functions fail with errc::no_step if there is no such state or no
/// step leads to it, and with errc::section_open in a group of steps. Only kept_state() and any_state_of() are allowed
/// in groups.
class destinations {
public:
    /// `steps` and `path` must outlive this object. `path` is the heap's.
    destinations(const step_tree& steps, steps_lie where, const std::string& path)
        : steps_(steps), where_(where), path_(path) {}

    [[nodiscard]] result<std::uint64_t> after_undo(std::uint64_t steps) const;
    [[nodiscard]] result<std::uint64_t> after_redo(std::uint64_t steps) const;
    [[nodiscard]] result<std::uint64_t> state_of(std::uint64_t version) const;

    // Kept versions.

    [[nodiscard]] result<void> refuse_in_group() const;
    /// Returns the present state if it may be kept by this name. errc::exists if this state is kept already, or
    /// another state has the name. errc::invalid_argument if the name is empty.
    [[nodiscard]] result<std::uint64_t> may_keep(std::string_view name) const;
    /// Returns the state that is kept by this version or name.
    [[nodiscard]] result<std::uint64_t> kept_state(std::uint64_t version) const;
    [[nodiscard]] result<std::uint64_t> kept_state(std::string_view name) const;
    /// Fails unless the last `steps` steps can be squashed: errc::invalid_argument if one of the states between these
    /// steps is kept, or another branch begins there.
    [[nodiscard]] result<void> may_squash(std::uint64_t steps) const;
    /// Returns the state of this version, kept or not.
    [[nodiscard]] result<std::uint64_t> any_state_of(std::uint64_t version) const;

private:
    [[nodiscard]] result<void> refuse_undo_in_group() const;

    const step_tree& steps_;
    const steps_lie where_;
    const std::string& path_;
};

} // namespace remanence::history
