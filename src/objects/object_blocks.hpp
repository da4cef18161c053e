// Finds the blocks that an object owns, from its schema. They are freed when another object replaces it.
#pragma once

#include "base/result.hpp"
#include "objects/object_source.hpp"

#include <cstdint>
#include <vector>

namespace remanence::objects {

/// Appends the heap offsets of the blocks that the object owns. These include neither the object's own block nor those
/// of the targets of its pointers. errc::corrupt. O(object).
result<void> add_blocks_of(heap_source& source, std::uint64_t base, object_place of,
                           std::vector<std::uint64_t>& blocks);

} // namespace remanence::objects
