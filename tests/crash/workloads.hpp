// What is done to heaps before they meet a power loss.
#pragma once

#include "explorer.hpp"

#include <vector>

namespace remanence::crash {

/// All there are.
std::vector<workload> engine_workloads();
/// Of them, those that write more than memory may hold (spill_workloads.cpp).
std::vector<workload> spill_workloads();

} // namespace remanence::crash
