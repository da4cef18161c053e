// Reads the redo log beside a heap: checks that it belongs to the heap, and finds the records that follow the heap's
// checkpoint. Changes nothing.
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

/// Opens the log and checks that it belongs to the heap. Returns null if there is no log and none is needed (I3).
/// Errors: log_missing, log_foreign, corrupt.
result<std::unique_ptr<os::file>> open_log(os::file_system& files, const store::heap_file& store, os::access mode);

struct scanned_record {
    std::uint64_t offset; // position in the log
    std::uint64_t version;
    std::uint64_t checksum;
    std::uint64_t durable_through; // R2
    std::uint64_t image_bytes;
    std::vector<std::byte> bytes; // header and payload
};

/// Returns the intact records that follow the store's checkpoint, in order. errc::corrupt or truncated if an
/// acknowledged record is missing.
result<std::vector<scanned_record>> scan(os::file& log, const store::superblock_pair& supers);

/// The result of a scan that returns the records before the damage.
struct scanned_log {
    std::vector<scanned_record> records;
    std::optional<failure> damage; // set if an acknowledged record is missing
};
result<scanned_log> scan_up_to_damage(os::file& log, const store::superblock_pair& supers);

/// A commit in a log, and the place of the next record.
struct log_place {
    std::uint64_t version;
    std::uint64_t chain;  // checksum of the commit's record
    std::uint64_t offset; // end of the commit's record
};
/// Reads the intact record that follows `place`, if there is one, and moves `place` to its end. That record may lie at
/// `place` or at the log's beginning. For processes that read while others write: a record that is missing or
/// incomplete is not damage. errc::unsupported_format.
result<std::optional<scanned_record>> next_record(os::file& log, const store::session_identity& session,
                                                  log_place& place);

/// Returns an errc::corrupt failure for a place in the log.
unexpected damaged_log(const std::string& path, std::uint64_t offset, const std::string& what);

} // namespace remanence::recover
