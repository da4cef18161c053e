// Reports what a container stores, and by which paths it is reached, as a table of groups of blocks (pReport). Depends
// on discovery and memory.
#pragma once

#include "discovery.hpp"

#include <string>

namespace remanence::softpm {

/// Visits everything that can be reached from the struct and the globals, as a point would. All other threads must be
/// stopped. Since they may hold the locks of streams, this function returns the table and prints nothing. O(reachable
/// memory).
[[nodiscard]] std::string report(const content& of, const discovery& look, const modules& loaded);

} // namespace remanence::softpm
