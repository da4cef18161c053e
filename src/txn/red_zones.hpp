// Checks the red zones of blocks at a commit. Depends on alloc and change.
#pragma once

#include "alloc/block_allocator.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"

namespace remanence::txn {

class heap_memory;

/// Checks the red zones of all blocks on pages that the commit changes. errc::corrupt, with a message that names the
/// block, if one was overwritten. The caller holds the allocation lock. O(changed pages).
[[nodiscard]] result<void> check_red_zones(heap_memory& memory, const change::change_set& changes);

} // namespace remanence::txn
