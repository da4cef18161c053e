// The redo log of a running heap: NAME-log, a header and then records one after the other. May use: base, os, format,
// store (for names only).
//
// A log lives from the first commit after an open to the next clean close; with it begins an epoch. A checkpoint makes
// it start again from its beginning; records left behind there never chain to newer ones (R2).
#pragma once

#include "base/result.hpp"
#include "format/log_record.hpp"
#include "log/record.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace remanence::log {

class redo_log {
public:
    /// Makes an empty log file beside the heap, replacing a stale one; durable, directory entry included, once this
    /// returns. errc::no_space leaves nothing behind.
    static result<std::unique_ptr<redo_log>> create(os::file_system& files, const std::string& heap_path,
                                                    const uuid& heap, std::uint64_t epoch,
                                                    std::uint64_t superblock_sequence, unsigned mode);

    /// Room for a record of this size behind the last one. errc::no_space; nothing visible has changed then.
    result<void> reserve(std::uint64_t record_bytes);
    /// Writes a finished record; durable once this returns. Precondition: reserved. A failure poisons the heap (I5).
    result<void> append(std::span<const std::byte> record);
    /// A superblock that covers every record is durable: the log may be overwritten from its beginning.
    void restart() { end_ = format::k_log_header_bytes; }

    /// Bytes of records since the last restart.
    [[nodiscard]] std::uint64_t used_bytes() const { return end_ - format::k_log_header_bytes; }
    [[nodiscard]] os::file& file() { return *file_; }

private:
    redo_log(std::unique_ptr<os::file> file, std::uint64_t size) : file_(std::move(file)), size_(size) {}

    std::unique_ptr<os::file> file_;
    std::uint64_t end_ = format::k_log_header_bytes; // where the next record goes
    std::uint64_t size_;                             // of the file
    bool has_grown_ = false;                         // by segments that are not durable yet
};

} // namespace remanence::log
