// A file of the real file system.
#pragma once

#include "os/file.hpp"

#include <memory>
#include <string>
#include <sys/stat.h>

namespace remanence::os {

/// Takes ownership of `descriptor`. `which` is its fstat() result; `path` is the name by which it was opened.
std::unique_ptr<file> posix_file_of(int descriptor, const struct stat& which, std::string path);

} // namespace remanence::os
