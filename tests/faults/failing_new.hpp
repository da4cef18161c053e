// The program's operator new, which can be told to fail. In a file of its own, so that the compiler sees no `delete` of
// what it knows to come from elsewhere.
#pragma once

#include <cstdint>

namespace remanence::faults {

struct allocation_plan {
    bool armed = false;
    bool from_then_on = false;
    std::uint64_t left = 0; // allocations that succeed before one fails
    std::uint64_t failed = 0;
    bool was_optional = false; // the first that failed was one that may, for whoever asked for it (std::nothrow)
};

/// Of the whole program, whichever thread allocates. To be read and set while no heap is open.
allocation_plan& allocations();

} // namespace remanence::faults
