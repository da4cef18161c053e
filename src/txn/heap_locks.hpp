// The locks of an open heap, below its section lock.
#pragma once

#include "os/quick_mutex.hpp"

#include <mutex>

namespace remanence::txn {

/// Lock order: first the section lock (section_lock), then at_store, then allocation. A thread that holds allocation
/// may only try at_store.
struct heap_locks {
    /// Makes a thread that takes at_store again and again let commits go first: both take `turn` before at_store, and
    /// release it once they have at_store. A thread that may have at_store already must only try at_store before.
    std::mutex turn;

    /// Guards store and view against a thread that spills, which does not hold the section lock. Recursive, since
    /// close() calls rollback() while it holds the lock.
    std::recursive_mutex at_store;
    /// Guards the allocator, the growth of the view, and declarations. It is locked before the mutexes of the thread
    /// caches.
    os::quick_mutex allocation;
};

} // namespace remanence::txn
