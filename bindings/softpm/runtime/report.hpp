// What a container keeps, and by which way it is reached: blocks in groups, as a table (pReport). Depends on discovery, memory.
#pragma once

#include "discovery.hpp"

#include <string>

namespace remanence::softpm {

/// Walks all that the struct and the globals reach, as a point would. The world stands meanwhile, so that nothing may be printed. O(what is
/// reachable).
[[nodiscard]] std::string report(const content& of, const discovery& look, const modules& loaded);

} // namespace remanence::softpm
