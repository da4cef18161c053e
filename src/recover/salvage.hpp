// What is left of a damaged heap: a recovery that passes over damage and tells of it. Never on the real files.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "recover/recovery.hpp"
#include "store/heap_file.hpp"

#include <functional>

namespace remanence::recover {

using damage_callback = std::function<void(const failure&)>;

/// As recover(), but the records before the damage are applied, and a page that does not become what they say cannot be
/// read afterwards: its checksum is wrong, or unreadable. To look at what is left, on files that keep changes to themselves (os/overlay_files.hpp); the
/// log stays. Fails where reading does, and with errc::unsupported_format.
result<recovery_outcome> salvage(os::file_system& files, store::heap_file& store, const damage_callback& damaged,
                                 const progress_callback& progress);

} // namespace remanence::recover
