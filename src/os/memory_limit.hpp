// Finds how much memory the process may use.
#pragma once

#include "os/file.hpp"

#include <cstdint>

namespace remanence::os {

/// Returns the size of the machine's memory, or the lowest limit of the process's control groups (v1 and v2) and their
/// parents if that is less. Reads /proc and /sys; returns 0 if they do not tell.
std::uint64_t memory_limit(file_system& files);

} // namespace remanence::os
