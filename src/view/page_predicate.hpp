// A question about a page of the heap, as callers answer it who know what lies in memory.
#pragma once

#include <cstdint>
#include <functional>

namespace remanence::view {

/// Asked by the page's number.
using page_predicate = std::function<bool(std::uint64_t page)>;

} // namespace remanence::view
