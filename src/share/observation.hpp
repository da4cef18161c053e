// Lists the processes that share a heap, without attaching to it. Reads only locks and the coordination file.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "share/coordination.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence::share {

/// An attached process. If it is in a section, `who` tells when that began; `version` is set if it reads.
struct observed_process {
    participant who;
    bool has_writer_lock = false;
    std::optional<std::uint64_t> version{};
};

struct observation {
    std::uint64_t version = 0; // the visible version
    std::vector<observed_process> processes;
};

/// Returns the processes that share the heap now, or nothing if none does. `heap` is open under `path`. Acquires no
/// lock and changes nothing. errc::unsupported_format if processes of another release share the heap. errc::in_use if
/// processes share it under another name, or are about to open or close it.
result<std::optional<observation>> observe(os::file_system& files, os::file& heap, const std::string& path);

} // namespace remanence::share
