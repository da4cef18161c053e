#include "workloads.hpp"

#include "workload_parts.hpp"

#include <algorithm>
#include <iterator>

namespace remanence::crash {

std::vector<workload> engine_workloads() {
    std::vector<workload> all;
    for (const auto& some :
         {commit_workloads(), durability_workloads(), space_workloads(), move_workloads(), background_workloads(),
          point_workloads(), short_memory_workloads(), spill_workloads(), stretch_workloads(), undo_workloads()})
        std::copy(some.begin(), some.end(), std::back_inserter(all));
    return all;
}

} // namespace remanence::crash
