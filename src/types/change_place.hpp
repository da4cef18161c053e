// Finds where changes lie, for messages about them.
#pragma once

#include "alloc/block_allocator.hpp"
#include "change/change_set.hpp"
#include "txn/heap_memory.hpp"

#include <string>

namespace remanence::types {

/// Describes the first change in a block that is in use: "below the root "x" of type T, in x.number". Returns an empty
/// string if no change lies in such a block, or no root reaches it. Names the part if part_in_words() knows it
/// (schema_reader.hpp). Complexity: that of owner_walk.
std::string root_of_first(txn::heap_memory& memory, const change::change_set& changes,
                          const alloc::block_allocator& blocks);

} // namespace remanence::types
