// A program's life with a heap, from creation to the removal of its root, in which anything may fail: it stops at the first
// error it hears of. What it leaves must be what was acknowledged, or what was being committed then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace remanence::faults {

struct story {
    std::uint64_t acknowledged = 0; // steps whose commit returned
    std::uint64_t begun = 0;        // the step that was tried last
    bool copied = false;            // there is a copy of heap and log as they were while open, to be recovered
    std::uint64_t repeated = 0;     // commits that succeeded the second time, once there was space or memory
    std::string heard;              // what ended it; empty: nothing did
};

/// Runs the program in an empty directory. `repeats`: a commit that reports a lack of space or memory before anything
/// was written is tried once more, and must succeed.
story run_program(const std::filesystem::path& where, bool repeats);

/// Opens what the program left, heap and copy, and uses it. Returns what is wrong; empty: nothing.
std::string check_what_is_left(const std::filesystem::path& where, const story& told);

} // namespace remanence::faults
