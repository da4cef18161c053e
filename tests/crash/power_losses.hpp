// What a power loss at each moment leaves of something that was done to a simulated disk.
#pragma once

#include "crash_states.hpp"
#include "options.hpp"
#include "testing/crash_walk.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace remanence::crash {

/// `start`: before it was done. Calls look(is_done) with the disk as a loss may leave it, in some hundred states; is_done: all of it had
/// returned. Ends with the first failure of the test.
template <class F>
void for_each_power_loss(simulation::simulated_disk& disk, const simulation::simulated_disk::savepoint& start,
                         const F& look) {
    const trace operations = disk.take_trace();
    disk.rewind({start.changes, start.inodes, 0});
    const crash_states states(operations, simulation::failed_sync::xfs, options().seed);
    simulation::crash_walk walk(disk, operations);
    for (const crash_state& each :
         states.sample(std::clamp<std::uint64_t>(options().states / 4, 100, 500), options().seed)) {
        SCOPED_TRACE(each.name());
        walk.advance_to(each.position);
        walk.build(states.choose(each, walk.pending()).parts);
        const auto before = disk.now();
        look(each.position == operations.size());
        disk.rewind(before);
        if (testing::Test::HasFailure())
            return;
    }
}

} // namespace remanence::crash
