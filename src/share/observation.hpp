// Who shares a heap, for those that do not take part: told by locks, and by what the coordination file says.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "share/coordination.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence::share {

/// A process that is attached. Of its section, if it is in one: when that began, and which version it reads.
struct observed_process {
    participant who;
    bool has_writer_lock = false; // to write
    std::optional<std::uint64_t> version{};
};

struct observation {
    std::uint64_t version = 0; // that is visible
    std::vector<observed_process> processes;
};

/// Takes no lock, and changes nothing. Nothing: nobody shares it now. `heap` is open under `path`. errc::unsupported_format:
/// processes of another release share it; errc::in_use: they do so under another name.
result<std::optional<observation>> observe(os::file_system& files, os::file& heap, const std::string& path);

} // namespace remanence::share
