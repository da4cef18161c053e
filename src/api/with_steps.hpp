// What the functions of look_back.hpp begin with: a heap's last commit, and the steps of its history.
#pragma once

#include "base/result.hpp"
#include "history/step_tree.hpp"
#include "inspect/inspection.hpp"

#include <remanence/look_back.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace remanence::inspect {

inline constexpr std::uint64_t k_attempts_to_look_back = 100;

/// Calls `use` with the last commit and the steps that led to it; as with_last_commit(), perhaps again with a later one. Throws
/// `error`: errc::no_step without any steps, and what `use` fails with.
void with_steps(const std::string& path, const progress_callback& on_progress,
                const std::function<result<void>(inspection&, history::step_tree&)>& use);

/// The state that `version` names. errc::no_step, saying what there is.
result<std::uint64_t> state_of(const history::step_tree& steps, const version_or_name& version,
                               const std::string& path);

} // namespace remanence::inspect
