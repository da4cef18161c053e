// What has the name of a history may be somebody's: it is never overwritten, but set aside.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace remanence::history {

struct found_file {
    bool is_taken;                  // the name
    std::unique_ptr<os::file> file; // null: nothing is there, or no file
};
/// What has this name. Fails when it is a file that cannot be opened.
result<found_file> find_file(os::file_system& files, const std::string& path, os::access mode);

/// The history of this heap, whole or not, that has this name; null: there is none. Fails when it is a file that cannot be read.
result<std::unique_ptr<os::file>> find_history(os::file_system& files, const std::string& path,
                                               const std::array<std::uint8_t, 16>& heap, os::access mode);
/// Removes it; durable once this returns.
result<void> remove_history(os::file_system& files, const std::string& path, os::file& file);
/// Whether something has this name: a symbolic link that leads nowhere has one, too.
result<bool> is_name_taken(os::file_system& files, const std::string& path);
/// Gives it the name `unfit`, in place of what was set aside before. Where that cannot be replaced, the next free name: `unfit`-2 and so on.
result<void> set_aside(os::file_system& files, const std::string& path, const std::string& unfit);

} // namespace remanence::history
