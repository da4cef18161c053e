// Keeps references to roots valid while steps of the history are undone and redone. The engine knows nothing of
// roots, so it asks this object.
#pragma once

#include "base/result.hpp"

namespace remanence::txn {

/// The functions are called in this order each time memory is about to become another state of the history. The
/// section lock is held.
class root_keeper {
public:
    root_keeper() = default;
    root_keeper(const root_keeper&) = delete;
    root_keeper& operator=(const root_keeper&) = delete;
    virtual ~root_keeper() = default;

    /// Notes the roots of the present state that somebody refers to. Throws std::bad_alloc.
    virtual result<void> note() = 0;
    /// Called when memory is the other state. Returns whether a noted root is missing there and can be made.
    /// errc::in_use if one is missing and cannot be made, or is another object: then memory must not stay so. Throws
    /// std::bad_alloc.
    virtual result<bool> is_missing() = 0;
    /// Makes the missing roots, empty, where they were. Runs the program's own code: callers hold no lock of the
    /// engine, and it may throw anything. errc::in_use: something else is in their place.
    virtual result<void> make() = 0;
};

} // namespace remanence::txn
