// The type of functions that answer a yes-or-no question about a page of the heap. Callers that know the pages'
// contents pass such a function to the view.
#pragma once

#include <cstdint>
#include <functional>

namespace remanence::view {

/// `page` is the index of the page in the heap.
using page_predicate = std::function<bool(std::uint64_t page)>;

} // namespace remanence::view
