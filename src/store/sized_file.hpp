// The heap file with its length and its syncs.
//
// The length is not asked of the file system again: a longer file may be so in the page cache only (I5), and every
// change of the length goes through here. Other processes change it, too, but processes write in turn: follow(). Under
// the lock of the store; syncs() from any thread.
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

    /// Reserves space on the disk. errc::no_space.
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
    /// Notes that another process may have extended the file.
    result<void> follow() {
        auto bytes = file_->size();
        if (!bytes)
            return bytes.error();
        bytes_ = *bytes;
        return {};
    }
    /// Extends the file to `end` unless it is as long.
    result<void> extend_to(std::uint64_t end) { return bytes_ >= end ? result<void>() : resize("store: extend", end); }
    /// Makes this range read as zeros, as far as the file reaches.
    result<void> punch(os::call_site where, file_range unused, os::unpunchable how) {
        if (unused.offset >= bytes_)
            return {};
        return file_->punch(where, unused.offset, std::min(unused.bytes, bytes_ - unused.offset), how);
    }
    /// Fails with errc::truncated if the file is shorter.
    [[nodiscard]] result<void> check_reaches(std::uint64_t needed) const;

private:
    std::unique_ptr<os::file> file_;
    sticky_sync syncs_; // all syncs of file_
    std::uint64_t bytes_;
};

} // namespace remanence::store
