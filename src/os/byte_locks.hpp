// Locks on single bytes of a file, among processes and among openings of one process (open-file-description locks).
#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace remanence::os {

using deadline = std::optional<std::chrono::steady_clock::time_point>; // none: it waits

enum class lock_kind { shared, exclusive };

/// What one opening of a file holds. All of it ends with this object, and with the process however it ends. A forked child has nothing
/// of it: its copy is closed by fork() itself, so that the parent's death is seen at once. From a file that is open for reading
/// only, shared locks can be taken, but no exclusive ones. Thread-safe.
class byte_locks {
public:
    byte_locks() = default;
    byte_locks(const byte_locks&) = delete;
    byte_locks& operator=(const byte_locks&) = delete;
    virtual ~byte_locks() = default;

    /// Takes the lock of a byte; what this holds there already becomes the other kind in one step. False, and nothing is changed,
    /// when somebody else's is in the way.
    virtual result<bool> try_lock(std::uint64_t byte, lock_kind kind) = 0;
    /// As try_lock(), and waits for who is in the way until then. False: he still is.
    virtual result<bool> lock(std::uint64_t byte, lock_kind kind, deadline until) = 0;
    /// Whatever this holds of these bytes.
    virtual void unlock(std::uint64_t first, std::uint64_t count = 1) noexcept = 0;
    /// A byte of [first, first+count) on which somebody else has a lock of any kind; nothing when there is none.
    virtual result<std::optional<std::uint64_t>> locked_by_others(std::uint64_t first, std::uint64_t count) = 0;
};

} // namespace remanence::os
