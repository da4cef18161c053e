// Keeps references to roots valid when steps of the history are undone or redone. The engine knows nothing of roots, so
// it calls this interface.
#pragma once

#include "base/result.hpp"

namespace remanence::txn {

/// Each time memory becomes another state of the history, the engine calls these functions in this order, with the
/// section lock held.
class root_keeper {
public:
    root_keeper() = default;
    root_keeper(const root_keeper&) = delete;
    root_keeper& operator=(const root_keeper&) = delete;
    virtual ~root_keeper() = default;

    /// Notes the roots of the present state that the program has references to. Throws std::bad_alloc.
    virtual result<void> note() = 0;
    /// Called once memory is the other state. Returns true if a noted root is missing there and can be made again.
    /// errc::in_use if a noted root is missing and cannot be made, or has been replaced by another object: then the
    /// caller must bring memory back. Throws std::bad_alloc.
    virtual result<bool> is_missing() = 0;
    /// Makes the missing roots again, empty, at their former addresses. Runs the program's own code, so callers hold no
    /// lock of the engine, and it may throw anything. errc::in_use if something else lies at such an address.
    virtual result<void> make() = 0;
};

} // namespace remanence::txn
