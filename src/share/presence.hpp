// Tells whether processes share a heap now, without attaching to it.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "share/layout.hpp"

namespace remanence::share {

/// True if processes share the heap. Acquires no lock. If the caller holds k_attach in any mode, the answer "no" stays
/// right until the caller releases k_attach. The answer "yes" may become wrong at any time: the last process may
/// detach.
inline result<bool> is_shared_now(os::file& heap) {
    auto locks = heap.open_locks();
    if (!locks)
        return locks.error();
    auto taken = (*locks)->locked_by_others(lock_byte::k_first_slot, k_slots);
    if (!taken)
        return taken.error();
    return taken->has_value();
}

} // namespace remanence::share
