// What keeps references to roots alive while steps of the history are undone and redone. The engine knows nothing of roots: who does is
// asked on the path.
#pragma once

#include "base/result.hpp"

namespace remanence::txn {

/// Called in this order, each time memory is about to become another state of the history, with the lock of the sections held.
class root_keeper {
public:
    root_keeper() = default;
    root_keeper(const root_keeper&) = delete;
    root_keeper& operator=(const root_keeper&) = delete;
    virtual ~root_keeper() = default;

    /// Memory is the present state: notes the roots of it that somebody has. Throws std::bad_alloc.
    virtual result<void> note() = 0;
    /// Memory is that other state. Whether a root that was noted is missing there, and can be made; errc::in_use: one is missing that
    /// cannot, or is another object there, so memory must not stay so. Throws std::bad_alloc.
    virtual result<bool> is_missing() = 0;
    /// Makes them, empty, where they were. Runs code of the program's: nobody may hold locks of the engine, and it throws what that throws.
    /// errc::in_use: something else lies there.
    virtual result<void> make() = 0;
};

} // namespace remanence::txn
