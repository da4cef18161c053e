// Recovery: what the redo log has of the history goes to its file before the log is emptied (H6, README.md).
#pragma once

#include "base/result.hpp"
#include "history/history_entries.hpp"
#include "os/file.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace remanence::history {

/// What the redo log has of a commit.
struct logged_events {
    commit_name commit;
    std::optional<std::span<const std::byte>> events; // none: its program kept no history
};

/// For recovery, before it empties the log: brings the events of these commits to the history file beside the heap, if there is one
/// and they follow what it has; durable once this returns (H6). What is no file is left alone. `checkpoint`: the commit before them.
/// Repeated, it does the same again.
result<void> keep_logged(os::file_system& files, const std::string& path, const heap_uuid& heap,
                         const commit_name& checkpoint, std::span<const logged_events> commits);

} // namespace remanence::history
