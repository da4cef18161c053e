// What the command line and the environment ask for.
#pragma once

#include <cstdint>
#include <string>

namespace remanence::crash {

struct test_options {
    std::uint64_t states = 0; // per workload, about
    std::uint64_t seed = 1;
    std::string replay; // full name of a state
};

/// Set by main().
test_options& options();

} // namespace remanence::crash
