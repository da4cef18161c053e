// A question about a page of the heap, answered by callers that know its contents.
#pragma once

#include <cstdint>
#include <functional>

namespace remanence::view {

/// `page` is the index of the page in the heap.
using page_predicate = std::function<bool(std::uint64_t page)>;

} // namespace remanence::view
