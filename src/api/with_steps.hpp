// The common first step of the functions in look_back.hpp: reads a heap's last commit, and the steps of its history.
#pragma once

#include "base/result.hpp"
#include "history/step_tree.hpp"
#include "inspect/inspection.hpp"
#include "recover/steps_beside.hpp"

#include <remanence/look_back.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace remanence::inspect {

inline constexpr std::uint64_t k_attempts_to_look_back = 100;

using history_visitor = std::function<result<void>(inspection&, recover::history_beside&)>;
/// Calls `use` with the last commit and the history beside it. May call `use` again with a later commit, as
/// with_last_commit() does. If that history has no steps, the heap has none: a concurrent writer cannot be the reason.
/// Returns the errors of `use`, and errc::in_use if the writer commits too fast. Throws std::bad_alloc.
///
/// In this and the following functions, `wanted` names the only states that `use` needs, as for recover::read_history().
result<void> look_at_history(os::file_system& files, const std::string& path, const inspection_progress& progress,
                             const history_visitor& use, std::span<const version_or_name> wanted = {});
/// Returns the history beside an inspected heap; nothing if the writer has committed again meanwhile.
result<std::optional<recover::history_beside>> history_of(os::file_system& files, inspection& heap,
                                                          std::span<const version_or_name> wanted = {});

using steps_visitor = std::function<result<void>(inspection&, history::step_tree&)>;
/// Does the same as look_at_history(), but passes only the steps; errc::no_step if there are none.
result<void> look_at_steps(os::file_system& files, const std::string& path, const inspection_progress& progress,
                           const steps_visitor& use, std::span<const version_or_name> wanted = {});

/// Returns a function that reports progress as that of reading the log. `on_progress` must outlive it.
[[nodiscard]] inspection_progress progress_of_log(const progress_callback& on_progress);
/// Does the same as look_at_steps(), with the real files. Throws `error` instead of returning it.
void with_steps(const std::string& path, const progress_callback& on_progress, const steps_visitor& use,
                std::span<const version_or_name> wanted = {});

using recover::state_of;

} // namespace remanence::inspect
