// The heap file, how long it is, and its syncs.
//
// Nobody asks the file system for the length again: a longer file may be so in the page cache only (I5), and all that makes
// it longer or shorter goes through here; but for what other processes did, who write in turn. Under the lock of the store; syncs() from any thread.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "os/file.hpp"
#include "store/sticky_sync.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace remanence::store {

class sized_file {
public:
    sized_file(std::unique_ptr<os::file> file, std::uint64_t bytes)
        : file_(std::move(file)), syncs_(*file_), bytes_(bytes) {}

    [[nodiscard]] os::file& file() { return *file_; }
    [[nodiscard]] sticky_sync& syncs() { return syncs_; }
    [[nodiscard]] const std::string& path() const { return file_->path(); }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

    /// Takes room on the disk. errc::no_space.
    result<void> reserve(os::call_site where, file_range room) {
        REM_TRY(file_->reserve(where, room.offset, room.bytes));
        bytes_ = std::max(bytes_, room.end());
        return {};
    }
    result<void> resize(os::call_site where, std::uint64_t bytes) {
        REM_TRY(file_->resize(where, bytes));
        bytes_ = bytes;
        return {};
    }
    /// Another process may have made it longer.
    result<void> follow() {
        auto bytes = file_->size();
        if (!bytes)
            return bytes.error();
        bytes_ = *bytes;
        return {};
    }
    /// Makes the file reach there, unless it does.
    result<void> extend_to(std::uint64_t end) { return bytes_ >= end ? result<void>() : resize("store: extend", end); }
    /// Makes the part of this that the file has read as zeros.
    result<void> punch(os::call_site where, file_range unused, os::unpunchable how) {
        if (unused.offset >= bytes_)
            return {};
        return file_->punch(where, unused.offset, std::min(unused.bytes, bytes_ - unused.offset), how);
    }
    /// errc::truncated when the file ends before.
    [[nodiscard]] result<void> check_reaches(std::uint64_t needed) const;

private:
    std::unique_ptr<os::file> file_;
    sticky_sync syncs_; // all syncs of file_
    std::uint64_t bytes_;
};

} // namespace remanence::store
