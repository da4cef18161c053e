// The locks of an open heap, below that of its sections.
#pragma once

#include "os/quick_mutex.hpp"

#include <mutex>

namespace remanence::txn {

/// In this order: whoever needs both takes at_store first, or only tries to take it. The lock of the sections (section_lock) comes
/// before both.
struct heap_locks {
    /// Of whoever uses store and view as the holder of the section lock does: a thread that spills does not hold that. Recursive,
    /// since a close rolls back.
    std::recursive_mutex at_store;
    /// Comes before the mutexes of the thread caches. Guards the allocator, the view's growth and what was declared.
    os::quick_mutex allocation;
};

} // namespace remanence::txn
