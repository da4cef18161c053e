// Whether processes share a heap now, for those that do not take part.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "share/layout.hpp"

namespace remanence::share {

/// Takes no lock. Whoever has k_attach, of any kind, is told the truth until he lets go of it, unless it is yes: the last of them may
/// leave at any time.
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
