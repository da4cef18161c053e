// For recovery: moves the history's events from the redo log to the history file before the log is emptied (H6,
// README.md).
#pragma once

#include "base/result.hpp"
#include "history/history_entries.hpp"
#include "os/file.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace remanence::history {

/// The events of a commit in the redo log.
struct logged_events {
    commit_name commit;
    std::optional<std::span<const std::byte>> events; // none: the program that made the commit kept no history
};

/// Appends the events of these commits to the history file beside the heap, if there is one and these commits follow
/// its entries. Recovery calls this before it empties the log. Durable once this returns (H6). `checkpoint` is the
/// commit before these. If the name belongs to something that is no file, does nothing. May be repeated.
result<void> keep_logged(os::file_system& files, const std::string& path, const heap_uuid& heap,
                         const commit_name& checkpoint, std::span<const logged_events> commits);

} // namespace remanence::history
