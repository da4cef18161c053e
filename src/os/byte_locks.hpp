// Locks on single bytes of a file, among processes and among openings within one process (open-file-description locks).
#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace remanence::os {

using deadline = std::optional<std::chrono::steady_clock::time_point>; // none: waits without limit

enum class lock_kind { shared, exclusive };

/// The locks of one opening of a file. They end with this object, and with the process however it ends. A forked child
/// does not inherit them: fork() closes its copy, so that the parent's death is noticed at once. With a file that is
/// open for reading only, shared locks can be taken, but not exclusive ones. Thread-safe.
class byte_locks {
public:
    byte_locks() = default;
    byte_locks(const byte_locks&) = delete;
    byte_locks& operator=(const byte_locks&) = delete;
    virtual ~byte_locks() = default;

    /// Takes the lock of a byte. A lock that this object has there already changes its kind, atomically. Returns false,
    /// and changes nothing, if another lock is in the way.
    virtual result<bool> try_lock(std::uint64_t byte, lock_kind kind) = 0;
    /// As try_lock(), but waits for the other lock until then. Returns false if it is still in the way.
    virtual result<bool> lock(std::uint64_t byte, lock_kind kind, deadline until) = 0;
    /// Releases all locks that this object has on these bytes.
    virtual void unlock(std::uint64_t first, std::uint64_t count = 1) noexcept = 0;
    /// Returns a byte of [first, first+count) that another opening has locked in any way; nothing if there is none.
    virtual result<std::optional<std::uint64_t>> locked_by_others(std::uint64_t first, std::uint64_t count) = 0;
};

} // namespace remanence::os
