// Finds the bytes that memory had before it was changed: writing these bytes undoes the step.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "history/delta.hpp"
#include "view/memory_view.hpp"

#include <cstdint>

namespace remanence::txn {

/// Returns the bytes that these changes overwrite. Call it before the commit, right after the collector has found the
/// changes. Stops once the result is longer than `enough` bytes. errc::corrupt and errc::io if the former content of a
/// chunk cannot be read. Throws std::bad_alloc.
result<history::delta> bytes_before(view::memory_view& view, const change::change_set& changes, std::uint64_t enough);
/// Returns the bytes of `kept` where memory has changed since `kept` was made. Fails as the function above.
result<history::delta> bytes_before(view::memory_view& view, const view::kept_pages& kept);

} // namespace remanence::txn
