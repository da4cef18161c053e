// What the functions of look_back.hpp begin with: a heap's last commit, and the steps of its history.
#pragma once

#include "base/result.hpp"
#include "history/step_tree.hpp"
#include "inspect/inspection.hpp"
#include "recover/steps_beside.hpp"

#include <remanence/look_back.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace remanence::inspect {

inline constexpr std::uint64_t k_attempts_to_look_back = 100;

using history_visitor = std::function<result<void>(inspection&, recover::history_beside&)>;
/// Calls `use` with the last commit and what lies beside it; as with_last_commit(), perhaps again with a later one. If that leads to no
/// steps, it was so when nobody wrote. Fails as `use` does, and with errc::in_use when the writer is too fast. Throws std::bad_alloc.
result<void> look_at_history(os::file_system& files, const std::string& path, const inspection_progress& progress,
                             const history_visitor& use);
/// The history beside a heap that was inspected at its leisure; nothing: the writer has moved on.
result<std::optional<recover::history_beside>> history_of(os::file_system& files, inspection& heap);

using steps_visitor = std::function<result<void>(inspection&, history::step_tree&)>;
/// As look_at_history(), with the steps alone: errc::no_step without any.
result<void> look_at_steps(os::file_system& files, const std::string& path, const inspection_progress& progress,
                           const steps_visitor& use);

/// Told of as reading the log. `on_progress` must outlive it.
[[nodiscard]] inspection_progress progress_of_log(const progress_callback& on_progress);
/// The same, of the real files. Throws `error` in place of failing.
void with_steps(const std::string& path, const progress_callback& on_progress, const steps_visitor& use);

/// The state that `version` names. errc::no_step, saying what there is.
result<std::uint64_t> state_of(const history::step_tree& steps, const version_or_name& version,
                               const std::string& path);

} // namespace remanence::inspect
