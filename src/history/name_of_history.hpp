// Finds, removes and sets aside files with the name of a history. A file that is not this heap's history may belong to
// the user, so it is never overwritten but renamed.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace remanence::history {

struct found_file {
    bool is_taken;                  // something has the name
    std::unique_ptr<os::file> file; // null: nothing has the name, or something that is no file
};
/// Opens the file of this name, if there is one. Fails if there is a file that cannot be opened.
result<found_file> find_file(os::file_system& files, const std::string& path, os::access mode);

/// Opens the file of this name if it is this heap's history, whole or not; else returns null. Fails if there is a file
/// that cannot be read.
result<std::unique_ptr<os::file>> find_history(os::file_system& files, const std::string& path,
                                               const std::array<std::uint8_t, 16>& heap, os::access mode);
/// Removes the file; durable once this returns.
result<void> remove_history(os::file_system& files, const std::string& path, os::file& file);
/// True if anything has this name, even a dangling symbolic link.
result<bool> is_name_taken(os::file_system& files, const std::string& path);
/// Renames the file to `unfit`, and replaces a file that was set aside before. If something that cannot be replaced
/// has that name, uses the next free one: `unfit`-2 and so on.
result<void> set_aside(os::file_system& files, const std::string& path, const std::string& unfit);

} // namespace remanence::history
