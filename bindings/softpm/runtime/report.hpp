// Reports what a container keeps, and by which paths it is reached: groups of blocks, as a table (pReport). Depends on
// discovery, memory.
#pragma once

#include "discovery.hpp"

#include <string>

namespace remanence::softpm {

/// Walks through everything that the struct and the globals reach, as a point would. All other threads are stopped
/// meanwhile, so nothing may be printed. O(reachable memory).
[[nodiscard]] std::string report(const content& of, const discovery& look, const modules& loaded);

} // namespace remanence::softpm
