// The messages for a history that is unusable or has no such state, in one place so that all callers use the same text.
#pragma once

#include "base/result.hpp"
#include "history/history_entries.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::history {

/// Where the steps are. If they are in a file, messages name "rem log", which can list them.
enum class steps_lie { in_memory, in_file };
/// These return errc::no_step: no state has this version, or none is kept by this name. The message tells which
/// versions there are.
unexpected no_version(const step_tree& steps, steps_lie where, std::uint64_t version, const std::string& heap);
unexpected no_kept_version(const step_tree& steps, steps_lie where, std::string_view name, const std::string& heap);

// These return a sentence that says why the file `path` lacks the steps that led to a heap's last commit.

[[nodiscard]] std::string no_history_at(const std::string& path);
/// For a name that belongs to something else, such as a directory.
[[nodiscard]] std::string no_file_at(const std::string& path);
/// For a file in which the entry of commit `version` is not sound.
[[nodiscard]] std::string unsound_at(const std::string& path, std::uint64_t version);
/// Reads the file once more to find the reason. Throws std::bad_alloc.
result<std::string> why_unfit(os::file& file, const heap_uuid& heap, const std::string& path, const commit_name& last,
                              std::uint64_t heap_bytes);

} // namespace remanence::history
