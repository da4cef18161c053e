// Which root does a block belong to? For messages. May use: base, alloc, txn.
#pragma once

#include "alloc/block_allocator.hpp"
#include "txn/engine.hpp"

#include <optional>
#include <string>

namespace remanence::types {

struct owner {
    std::string name;
    std::string type;
};

/// The first root found to reach `block`. Conservative: whatever has the value of an address in a block is taken for a
/// pointer to it. `complete` is false when the walk was given up: then nothing is known. O(blocks).
std::optional<owner> find_owner(txn::engine& engine, const alloc::block_allocator& blocks, const void* block,
                                bool& complete);

} // namespace remanence::types
