// How much memory the process may use.
#pragma once

#include "os/file.hpp"

#include <cstdint>

namespace remanence::os {

/// The machine's memory, or the least limit of the control groups (v1 and v2) that the process is in, their parents included, as
/// /proc and /sys tell; 0 when they tell nothing.
std::uint64_t memory_limit(file_system& files);

} // namespace remanence::os
