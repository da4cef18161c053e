// The blocks that an object owns, by its schema: to be freed, when another one takes its place.
#pragma once

#include "base/result.hpp"
#include "objects/object_source.hpp"

#include <cstdint>
#include <vector>

namespace remanence::objects {

/// Appends the heap offsets at which they begin: of all that the object holds, but neither its own nor those of what it points at.
/// errc::corrupt. O(object).
result<void> add_blocks_of(heap_source& source, std::uint64_t base, object_place of,
                           std::vector<std::uint64_t>& blocks);

} // namespace remanence::objects
