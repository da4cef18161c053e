// Reads what is left of a damaged heap: a recovery that passes over damage and reports it. Never used on the real
// files.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "recover/recovery.hpp"
#include "store/heap_file.hpp"

#include <functional>

namespace remanence::recover {

using damage_callback = std::function<void(const failure&)>;

/// As recover(), but applies only the records before the damage. A page that does not become what they say cannot be
/// read afterwards: its checksum is wrong, or unreadable. For files that keep changes in memory (os/overlay_files.hpp).
/// The log stays. Fails on read errors, and with errc::unsupported_format.
result<recovery_outcome> salvage(os::file_system& files, store::heap_file& store, const damage_callback& damaged,
                                 const progress_callback& progress);

} // namespace remanence::recover
