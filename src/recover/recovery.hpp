// Bringing a heap file that was not closed cleanly to its last commit: scan the redo log, replay it into the image,
// mark the heap clean, remove the log. The only code that changes a store while it opens.
//
// The argument, case by case, is in docs/format.md.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "recover/replay.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::recover {

/// A page, and the version of the last record that changes it.
struct last_change {
    std::uint64_t page;
    std::uint64_t version;
};

struct recovery_outcome {
    std::uint64_t commits = 0; // records replayed
    std::uint64_t bytes = 0;   // their size in the log
    // Told by salvage() only:
    log::record_totals totals{};        // what they change
    std::vector<last_change> changes{}; // sorted by page; not what their chunks' births undid
    chunk_births births{};              // of the chunks they place, by which version
};

/// Precondition: the store was opened for reading and writing. Afterwards it is clean and there is no log.
/// Errors: log_missing, log_foreign, corrupt (with the offset in the log or the heap file); in_use, when the log is another
/// open heap's. `keep`: keep_history(), or null in a program that lacks the part; then a history ends.
using history_keeper = result<void> (*)(os::file_system& files, const store::heap_file& store,
                                        const std::vector<scanned_record>& records);
result<recovery_outcome> recover(os::file_system& files, store::heap_file& store, const progress_callback& progress,
                                 history_keeper keep);

/// Brings what the records have of a history that is kept over sessions to its file, before a superblock says that they are not needed.
result<void> keep_history(os::file_system& files, const store::heap_file& store,
                          const std::vector<scanned_record>& records);

/// Makes the records durable, which follow each other: the last ones may be in the page cache only, since their writer died or
/// their sync failed.
result<void> confirm(os::file& log, const std::vector<scanned_record>& records);

/// I3: a heap that says it was closed cleanly must not be older than a log that lies beside it. Changes nothing.
result<void> check_clean(os::file_system& files, const store::heap_file& store);
/// Removes this name of the log of a heap whose superblock says that it is clean; another heap's log that has the name
/// stays.
result<void> remove_log(os::file_system& files, const std::string& path, os::file& log);

} // namespace remanence::recover
