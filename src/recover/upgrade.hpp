// A heap of an older format, converted in place.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::recover {

struct upgrade_outcome {
    std::uint32_t format_before;
    std::uint64_t recovered_commits = 0; // that the log of the older format had
    bool changed = false;                // else it was as it was wanted
};

/// Brings the heap to the format of this release, and records whose it is, unless `application` is empty. It is recovered
/// first, as by an open, if its program died. Durable once this returns; cut short anywhere, it leaves a heap of the older
/// format or of this one, with all its commits. A heap that needs neither is not touched.
/// errc::in_use; errc::wrong_application when it is another application's; what recovery and an open fail with. O(log).
result<upgrade_outcome> upgrade(os::file_system& files, const std::string& path, std::string_view application);

} // namespace remanence::recover
