// Brings a heap file that was not closed cleanly to its last commit: scans the redo log, applies it to the image, marks
// the heap as clean, and removes the log. This is the only code that changes a store while it opens.
//
// docs/format.md argues, case by case, why this is correct.
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
    // set by salvage() only
    log::record_totals totals{};        // what the records change
    std::vector<last_change> changes{}; // sorted by page; only those that replay applies (R3)
    chunk_births births{};              // the version that placed each chunk or gave it back
};

/// Recovers the heap. Precondition: the store was opened for reading and writing. Afterwards it is clean and has no
/// log. Errors: log_missing, log_foreign, corrupt (with the offset in the log or the heap file); in_use if the log
/// belongs to another open heap. `keep` is keep_history(). In a program without the history part of the library it is
/// null, and recovery then ends the heap's history.
using history_keeper = result<void> (*)(os::file_system& files, const store::heap_file& store,
                                        const std::vector<scanned_record>& records);
result<recovery_outcome> recover(os::file_system& files, store::heap_file& store, const progress_callback& progress,
                                 history_keeper keep);

/// Copies the events of a kept history from the records to its file. Must be called before a superblock declares the
/// records unnecessary.
result<void> keep_history(os::file_system& files, const store::heap_file& store,
                          const std::vector<scanned_record>& records);

/// Makes the records, which are consecutive, durable. The last ones may be in the page cache only, because their writer
/// died or their sync failed.
result<void> confirm(os::file& log, const std::vector<scanned_record>& records);

/// Checks I3: a heap that counts as closed cleanly must not be older than a log beside it. Changes nothing.
result<void> check_clean(os::file_system& files, const store::heap_file& store);
/// Removes the log of a heap whose superblock says that it is clean. If the file of that name is another heap's log by
/// now, leaves it there.
result<void> remove_log(os::file_system& files, const std::string& path, os::file& log);

} // namespace remanence::recover
