// Reads what is left of a damaged heap: a recovery that reports damage and continues. Never used on the real files.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "recover/recovery.hpp"
#include "store/heap_file.hpp"

#include <functional>

namespace remanence::recover {

using damage_callback = std::function<void(const failure&)>;

/// As recover(), but applies only the records before the damage in the log. If a page does not become what the records
/// say, later reads of it fail, since its checksum is wrong or unreadable. For files that keep changes in memory
/// (os/overlay_files.hpp). Does not remove the log. Fails on read errors, and with errc::unsupported_format.
result<recovery_outcome> salvage(os::file_system& files, store::heap_file& store, const damage_callback& damaged,
                                 const progress_callback& progress);

} // namespace remanence::recover
