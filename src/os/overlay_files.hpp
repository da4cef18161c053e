// The files of another file system, with all changes in memory only: files opened through this object show what was
// written through it, and the files below do not change. So a heap can be recovered in order to inspect it, copy it or
// open it read-only, without being changed.
//
//  O1  The files below are opened for reading only, whatever the caller asks for, and locked shared.
//  O2  Each open file has its own changes, which are dropped with it. A removed name stays removed in this file system.
//  O3  A mapping shows the changes made before it, and none made later.
#pragma once

#include "os/file.hpp"

#include <set>
#include <string>

namespace remanence::os {

/// Uses memory for each page written, and a word for each range punched. Nothing is ever durable: sync does nothing.
class overlay_files final : public file_system {
public:
    /// `below` must outlive this object and all its files.
    explicit overlay_files(file_system& below) : below_(below) {}

    result<std::unique_ptr<file>> open(const std::string& path, access mode) override;
    /// Fails with errc::not_supported, like every other operation that creates a name.
    result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) override;
    result<bool> exists(const std::string& path) override;
    result<bool> has_directory(const std::string& path) override { return below_.has_directory(path); }
    result<void> rename_to_new(call_site where, const std::string& from, const std::string& to) override;
    result<void> rename_over(call_site where, const std::string& from, const std::string& to) override;
    result<void> remove(call_site where, const std::string& path, file& which) override;
    result<void> sync_directory(call_site where, const std::string& path) override;

private:
    file_system& below_;
    std::set<std::string> removed_;
};

} // namespace remanence::os
