// Records in the heap whether it has a history that is kept over sessions, and its limits. So they hold whatever
// program opens it.
#pragma once

#include "base/result.hpp"
#include "format/history_event.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/recorded_page.hpp"

#include <optional>

namespace remanence::store {

/// Reads what the superblock says; nothing if the heap has no such history. errc::corrupt.
result<std::optional<format::history_limits>> read_recorded_history(os::file& file, const format::superblock& super);
/// Returns the page that superblock::history refers to.
recorded_page to_page(const format::history_limits& most);

} // namespace remanence::store
