// The messages for a history that is unusable or does not lead to a state. All callers say the same.
#pragma once

#include "base/result.hpp"
#include "history/history_entries.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::history {

/// Says whether rem can list the steps.
enum class steps_lie { in_memory, in_file };
/// Returns errc::no_step with a list of what there is: no state has this version, or none is kept by this name.
unexpected no_version(const step_tree& steps, steps_lie where, std::uint64_t version, const std::string& heap);
unexpected no_kept_version(const step_tree& steps, steps_lie where, std::string_view name, const std::string& heap);

// These say in a sentence why the file `path` lacks the steps that led to a heap's last commit.

[[nodiscard]] std::string no_history_at(const std::string& path);
/// Something else, such as a directory, has the name.
[[nodiscard]] std::string no_file_at(const std::string& path);
/// The entry of commit `version` is not sound.
[[nodiscard]] std::string unsound_at(const std::string& path, std::uint64_t version);
/// Reads an existing file once more to find the reason. Throws std::bad_alloc.
result<std::string> why_unfit(os::file& file, const heap_uuid& heap, const std::string& path, const commit_name& last,
                              std::uint64_t heap_bytes);

} // namespace remanence::history
