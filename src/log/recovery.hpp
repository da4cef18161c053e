// Bringing a heap file that was not closed cleanly to its last commit: scan the redo log, replay it into the image,
// mark the heap clean, remove the log. The only code that changes a store while it opens. May use: base, os, format,
// store.
//
// The argument, case by case, is in docs/format.md. Replay is idempotent: ranges are applied in order onto pages that
// hold any mixture of old and new sectors (R6), so a recovery cut short is simply repeated.
#pragma once

#include "base/result.hpp"
#include "log/record.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace remanence::log {

struct recovery_outcome {
    std::uint64_t commits = 0; // records replayed
    std::uint64_t bytes = 0;   // their size
};

using progress_callback = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Precondition: the store was opened for reading and writing. Afterwards it is clean and there is no log.
/// Errors: log_missing, log_foreign, corrupt (with the offset in the log or the heap file).
result<recovery_outcome> recover(os::file_system& files, store::heap_file& store, const progress_callback& progress);

using damage_callback = std::function<void(const failure&)>;

/// As recover(), but passes over damage, of which it tells: the records before it are applied, and what does not become
/// what they say fails its checksum afterwards. To look at what is left, on files that keep changes to themselves
/// (os/overlay_files.hpp); the log stays. Fails where reading does, and with errc::unsupported_format.
result<recovery_outcome> salvage(os::file_system& files, store::heap_file& store, const damage_callback& damaged,
                                 const progress_callback& progress);

/// I3: a heap that says it was closed cleanly must not be older than a log that lies beside it. Changes nothing.
result<void> check_clean(os::file_system& files, store::heap_file& store);
/// Removes the log of a heap whose superblock says that it is clean.
result<void> remove_log(os::file_system& files, const std::string& heap_path);

/// The intact records that follow the store's checkpoint, in order; errc::corrupt when an acknowledged one is damaged.
struct scanned_record {
    std::uint64_t offset; // in the log
    std::uint64_t version;
    std::uint64_t checksum;
    std::uint64_t image_bytes;
    std::vector<std::byte> bytes; // header and payload
};
result<std::vector<scanned_record>> scan(os::file& log, const store::heap_file& store);

} // namespace remanence::log
