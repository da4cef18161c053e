// A file with the name of a history may belong to somebody: it is never overwritten, but set aside.
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
    std::unique_ptr<os::file> file; // null: nothing there, or not a file
};
/// Finds what has this name. Fails if it is a file that cannot be opened.
result<found_file> find_file(os::file_system& files, const std::string& path, os::access mode);

/// Finds this heap's history of this name, whole or not; null if there is none. Fails if it is a file that cannot be
/// read.
result<std::unique_ptr<os::file>> find_history(os::file_system& files, const std::string& path,
                                               const std::array<std::uint8_t, 16>& heap, os::access mode);
/// Removes the file; durable once this returns.
result<void> remove_history(os::file_system& files, const std::string& path, os::file& file);
/// True if something has this name, even a symbolic link that leads nowhere.
result<bool> is_name_taken(os::file_system& files, const std::string& path);
/// Renames the file to `unfit`, in place of a file that was set aside before. If that cannot be replaced, takes the
/// next free name: `unfit`-2 and so on.
result<void> set_aside(os::file_system& files, const std::string& path, const std::string& unfit);

} // namespace remanence::history
