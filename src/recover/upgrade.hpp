// Converts a heap of an older format in place.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::recover {

struct upgrade_outcome {
    std::uint32_t format_before;
    std::uint64_t recovered_commits = 0; // those in the log of the older format
    bool changed = false;                // false: the heap was already as requested
};

/// Converts the heap to the format of this release, and records its application unless `application` is empty. First
/// recovers the heap, as an open does, if its program died. Durable once this returns. If the upgrade is interrupted,
/// the heap has the older format or this one, with all its commits. A heap that needs no change is not written to.
/// errc::in_use; errc::wrong_application if it belongs to another application; the errors of recovery and of an open.
/// O(log).
result<upgrade_outcome> upgrade(os::file_system& files, const std::string& path, std::string_view application);

} // namespace remanence::recover
