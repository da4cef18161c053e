// Whether a heap has a history that is kept over sessions, and with which limits: recorded in the heap, whoever opens it.
#pragma once

#include "base/result.hpp"
#include "format/history_event.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/recorded_page.hpp"

#include <optional>

namespace remanence::store {

/// As the superblock says; nothing: it has none. errc::corrupt.
result<std::optional<format::history_limits>> read_recorded_history(os::file& file, const format::superblock& super);
/// What superblock::history refers to.
recorded_page to_page(const format::history_limits& most);

} // namespace remanence::store
