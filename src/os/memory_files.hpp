// A file system with one file, which lies in memory. The file is a copy of a file that others write to, and has that
// file's name. The kernel owns its pages (memfd_create), so a mapping of it uses no further memory. They are freed with
// the last file object and mapping.
#pragma once

#include "os/descriptor.hpp"
#include "os/file.hpp"

#include <memory>
#include <string>

namespace remanence::os {

/// Nothing is ever durable: sync does nothing. No other file exists or can be created.
class memory_files final : public file_system {
public:
    /// Creates an empty file called `path`. errc::io, errc::no_space: the system has no descriptor left, or does not
    /// support such files.
    static result<std::unique_ptr<memory_files>> create(std::string path);

    result<std::unique_ptr<file>> open(const std::string& path, access mode) override;
    result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) override;
    result<bool> exists(const std::string& path) override { return path == path_; }
    result<bool> has_directory(const std::string& /*path*/) override { return true; }
    result<void> rename_to_new(call_site where, const std::string& from, const std::string& to) override;
    result<void> rename_over(call_site where, const std::string& from, const std::string& to) override;
    result<void> remove(call_site where, const std::string& path, file& which) override;
    result<void> sync_directory(call_site /*where*/, const std::string& /*path*/) override { return {}; }

private:
    memory_files(std::string path, std::shared_ptr<const descriptor> content)
        : path_(std::move(path)), content_(std::move(content)) {}

    std::string path_;
    std::shared_ptr<const descriptor> content_;
};

} // namespace remanence::os
