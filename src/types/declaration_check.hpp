// Finds and refuses the changes in a declared section that were not declared.
//
//  D1  Words that lie in no block do not count, since no program reads them: a destructor may write into memory that is
//      freed right afterwards.
//  D2  The allocator's own structures count: the allocator declares all of its changes.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"
#include "txn/heap_memory.hpp"

namespace remanence::types {

/// Fails with errc::undeclared_change if a word was changed without being declared; names the first such word, with its
/// block, root and type. `missed`: the changes that were not declared. O(changed words); with such a word O(blocks).
result<void> refuse_undeclared(txn::heap_memory& memory, const change::change_set& missed,
                               const alloc::block_allocator& blocks);

} // namespace remanence::types
