// What memory held before it was changed: what a step is undone by.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "history/delta.hpp"
#include "view/memory_view.hpp"

#include <cstdint>

namespace remanence::txn {

/// Before a commit of these changes, which the collector has just found; but no more once it is longer than `enough` bytes. errc::corrupt and
/// errc::io when what a chunk held cannot be read. Throws std::bad_alloc.
result<history::delta> bytes_before(view::memory_view& view, const change::change_set& changes, std::uint64_t enough);
/// Where memory has changed since it was as `kept` says. Fails likewise.
result<history::delta> bytes_before(view::memory_view& view, const view::kept_pages& kept);

} // namespace remanence::txn
