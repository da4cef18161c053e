// What a commit looks at in heaps with guarded blocks. Depends on alloc and change.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"

namespace remanence::txn {

class heap_memory;

/// The guard bytes of all blocks on pages that the commit changes. errc::corrupt, naming the block, when some were written over. The
/// caller holds the allocation lock. O(changed pages).
[[nodiscard]] result<void> check_guards(heap_memory& memory, const change::change_set& changes);

} // namespace remanence::txn
