// A program's life with a heap, from creation to the removal of its root, in which anything may fail: it stops at the first
// error it hears of. What it leaves must be what was acknowledged, or what was being committed then.
#pragma once

#include <remanence/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace remanence::faults {

struct story {
    std::uint64_t acknowledged = 0; // steps whose commit returned
    std::uint64_t begun = 0;        // the step that was tried last
    bool copied = false;            // there is a copy of heap and log as they were while open, to be recovered
    std::uint64_t repeated = 0;     // commits that succeeded the second time, once there was space or memory
    std::string heard;              // what ended it; empty: nothing did
    std::optional<errc> reason;     // of the error that it heard; none: a lack of memory, or verify() found problems
    int os_error = 0;               // of that error
    bool found_by_verify = false;   // that is what it heard
    std::string wrong;              // what no failure of a call explains; empty: nothing
};

/// Runs the program in an empty directory. `once`: what fails does so once; so a commit that reports a lack of space or
/// memory before anything was written is tried once more, and must succeed, and problems that verify() finds must be gone
/// when it is called once more. `replaces`: with a copy over another one, as the tool makes it.
story run_program(const std::filesystem::path& where, bool once, bool replaces = false);

/// Opens what the program left, heap and copy, and uses it. Returns what is wrong; empty: nothing.
std::string check_what_is_left(const std::filesystem::path& where, const story& told);

/// Every how many calls one fails: REMANENCE_FAULT_STRIDE, or else this.
std::uint64_t stride_of_faults(std::uint64_t usual);

} // namespace remanence::faults
