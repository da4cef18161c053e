// Records in the heap whether it keeps a history over sessions, and the limits of that history. So the limits hold for
// every program that opens the heap.
#pragma once

#include "base/result.hpp"
#include "format/history_event.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/recorded_page.hpp"

#include <optional>

namespace remanence::store {

/// Reads the limits from the page that the superblock names; returns nothing if the heap keeps no such history.
/// errc::corrupt.
result<std::optional<format::history_limits>> read_recorded_history(os::file& file, const format::superblock& super);
/// Returns the page for superblock::history.
recorded_page to_page(const format::history_limits& most);

} // namespace remanence::store
