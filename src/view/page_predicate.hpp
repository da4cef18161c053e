// A question about a page of the heap, answered by callers that know what lies in memory.
#pragma once

#include <cstdint>
#include <functional>

namespace remanence::view {

/// Gets the page's number.
using page_predicate = std::function<bool(std::uint64_t page)>;

} // namespace remanence::view
