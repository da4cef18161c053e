// What a declared section changed without declaring it: named, and refused.
//
//  D1  Words that lie in no block do not count: nobody reads them. A destructor writes into what is then freed.
//  D2  What the allocator keeps for itself counts: it declares all of it.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "txn/heap_memory.hpp"

namespace remanence::types {

/// errc::undeclared_change, naming the first such word, its block, root and type, if there is one. `missed`: what was
/// changed and not declared. O(changed words); with such a word O(blocks).
result<void> refuse_undeclared(txn::heap_memory& memory, const change::change_set& missed,
                               const alloc::block_allocator& blocks);

} // namespace remanence::types
