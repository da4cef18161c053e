// What memory held before it was changed: the bytes that undo a step.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "history/delta.hpp"
#include "view/memory_view.hpp"

#include <cstdint>

namespace remanence::txn {

/// Returns what these changes overwrite. Call it before their commit, when the collector has just found them. Stops
/// once the result is longer than `enough` bytes. errc::corrupt and errc::io if the former content of a chunk cannot
/// be read. Throws std::bad_alloc.
result<history::delta> bytes_before(view::memory_view& view, const change::change_set& changes, std::uint64_t enough);
/// Returns the bytes of `kept` at the places where memory has changed since. Fails likewise.
result<history::delta> bytes_before(view::memory_view& view, const view::kept_pages& kept);

} // namespace remanence::txn
