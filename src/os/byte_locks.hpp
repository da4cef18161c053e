// Locks on single bytes of a file, which exclude other processes and other openings in this process
// (open-file-description locks).
#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace remanence::os {

using deadline = std::optional<std::chrono::steady_clock::time_point>; // none: no limit

enum class lock_kind { shared, exclusive };

/// The locks of one opening of a file. They are released with this object, or when the process ends in any way. A
/// forked child does not inherit them: fork() closes its descriptor, so that other processes notice the parent's death
/// at once. If the file is open for reading only, only shared locks are possible. Thread-safe.
class byte_locks {
public:
    byte_locks() = default;
    byte_locks(const byte_locks&) = delete;
    byte_locks& operator=(const byte_locks&) = delete;
    virtual ~byte_locks() = default;

    /// Acquires the lock of a byte. If this object holds a lock there already, changes its kind atomically. Returns
    /// false, and changes nothing, if another lock conflicts.
    virtual result<bool> try_lock(std::uint64_t byte, lock_kind kind) = 0;
    /// As try_lock(), but waits up to `until` for the conflicting lock to be released. Returns false if it is still
    /// held then.
    virtual result<bool> lock(std::uint64_t byte, lock_kind kind, deadline until) = 0;
    /// Releases all locks of this object on these bytes.
    virtual void unlock(std::uint64_t first, std::uint64_t count = 1) noexcept = 0;
    /// Returns a byte of [first, first+count) on which another opening holds any lock; nothing if there is none.
    virtual result<std::optional<std::uint64_t>> locked_by_others(std::uint64_t first, std::uint64_t count) = 0;
};

} // namespace remanence::os
