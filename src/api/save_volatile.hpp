// Makes heap files of volatile heaps.
#pragma once

#include "os/file.hpp"

#include <remanence/volatile_heap.hpp>

#include <filesystem>
#include <string_view>

namespace remanence::detail {

/// As the public save_as(), on these files; for tests.
void save_as(os::file_system& files, const volatile_heap& from, const std::filesystem::path& path,
             std::string_view abi);

} // namespace remanence::detail
