// The heap file with its length and its syncs.
//
// The length is cached and not queried from the file system again, which might report a length that is in the page
// cache only (I5). Every change of the length by this process is made here. Other processes change the length, too, but
// processes write in turn, and follow() updates it. Protected by the lock of the store; syncs() may be called by any
// thread.
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
    /// Reads the length again, which another process may have changed.
    result<void> follow() {
        auto bytes = file_->size();
        if (!bytes)
            return bytes.error();
        bytes_ = *bytes;
        return {};
    }
    /// Extends the file to `end` if it is shorter.
    result<void> extend_to(std::uint64_t end) { return bytes_ >= end ? result<void>() : resize("store: extend", end); }
    /// Makes the part of this range that lies within the file read as zeros.
    result<void> punch(os::call_site where, file_range unused, os::unpunchable how) {
        if (unused.offset >= bytes_)
            return {};
        return file_->punch(where, unused.offset, std::min(unused.bytes, bytes_ - unused.offset), how);
    }
    /// Fails with errc::truncated if the file is shorter than `needed`.
    [[nodiscard]] result<void> check_reaches(std::uint64_t needed) const;

private:
    std::unique_ptr<os::file> file_;
    sticky_sync syncs_; // all syncs of file_
    std::uint64_t bytes_;
};

} // namespace remanence::store
