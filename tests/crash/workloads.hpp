// What is done to heaps before they meet a power loss.
#pragma once

#include "explorer.hpp"

#include <vector>

namespace remanence::crash {

std::vector<workload> engine_workloads();

} // namespace remanence::crash
