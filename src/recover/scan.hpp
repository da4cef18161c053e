// Reading the redo log beside a heap: whether it is the heap's, and which records follow the heap's checkpoint.
// Changes nothing.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"
#include "store/image_writer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace remanence::recover {

/// Opens the heap's log and checks that it is the heap's; null when there is none, and none is needed (I3).
/// Errors: log_missing, log_foreign, corrupt.
result<std::unique_ptr<os::file>> open_log(os::file_system& files, const store::heap_file& store, os::access mode);

struct scanned_record {
    std::uint64_t offset; // in the log
    std::uint64_t version;
    std::uint64_t checksum;
    std::uint64_t durable_through; // R2
    std::uint64_t image_bytes;
    std::vector<std::byte> bytes; // header and payload
};

/// The intact records that follow the store's checkpoint, in order; errc::corrupt or truncated when an acknowledged one
/// is not there.
result<std::vector<scanned_record>> scan(os::file& log, const store::superblock_pair& supers);

/// What scan() finds, for who takes the records before the damage, too.
struct scanned_log {
    std::vector<scanned_record> records;
    std::optional<failure> damage; // an acknowledged record is not there
};
result<scanned_log> scan_up_to_damage(os::file& log, const store::superblock_pair& supers);

/// A commit in a log, and where the next one follows.
struct log_place {
    std::uint64_t version;
    std::uint64_t chain;  // checksum of its record
    std::uint64_t offset; // behind it
};
/// Reads the intact record that follows `place`, if there is one, and moves on behind it: there, or at the log's beginning. For
/// who reads while others write: what is not there yet, or not whole, is no damage. errc::unsupported_format.
result<std::optional<scanned_record>> next_record(os::file& log, const store::session_identity& session,
                                                  log_place& place);

/// errc::corrupt at a place in the log.
unexpected damaged_log(const std::string& path, std::uint64_t offset, const std::string& what);

} // namespace remanence::recover
