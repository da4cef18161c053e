// What is said where a history is of no use, or does not lead: the same, whoever finds out.
#pragma once

#include "base/result.hpp"
#include "history/history_entries.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::history {

/// Whether rem can list the steps.
enum class steps_lie { in_memory, in_file };
/// errc::no_step, saying what there is: the steps have no state of this version, or none that is kept by this name.
unexpected no_version(const step_tree& steps, steps_lie where, std::uint64_t version, const std::string& heap);
unexpected no_kept_version(const step_tree& steps, steps_lie where, std::string_view name, const std::string& heap);

// Why the file `path` has not the steps that led to a heap's last commit, in a sentence.

[[nodiscard]] std::string no_history_at(const std::string& path);
/// A directory, say, is there.
[[nodiscard]] std::string no_file_at(const std::string& path);
/// What commit `version` did is not sound.
[[nodiscard]] std::string unsound_at(const std::string& path, std::uint64_t version);
/// Of a file that is there: reads it once more, to tell. Throws std::bad_alloc.
result<std::string> why_unfit(os::file& file, const heap_uuid& heap, const std::string& path, const commit_name& last,
                              std::uint64_t heap_bytes);

} // namespace remanence::history
