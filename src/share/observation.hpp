// Tells processes that do not attach who shares a heap. Reads locks and the coordination file.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "share/coordination.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence::share {

/// An attached process. If it is in a section: when that began, and which version it reads.
struct observed_process {
    participant who;
    bool has_writer_lock = false;
    std::optional<std::uint64_t> version{};
};

struct observation {
    std::uint64_t version = 0; // the visible one
    std::vector<observed_process> processes;
};

/// Returns who shares the heap, or nothing if nobody does now. `heap` is open under `path`. Takes no lock and changes
/// nothing. errc::unsupported_format: processes of another release share it. errc::in_use: processes share it under
/// another name.
result<std::optional<observation>> observe(os::file_system& files, os::file& heap, const std::string& path);

} // namespace remanence::share
