// The syncs of a file that several threads write to.
//
// The kernel reports a failed writeback once: to the first sync after it, no matter which thread wrote the data. So
// this class runs syncs one after the other. Once a sync has failed, all later ones return that failure without a
// system call (I5).
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <mutex>
#include <optional>

namespace remanence::store {

/// Thread-safe.
class sticky_sync {
public:
    /// The file must outlive this object.
    explicit sticky_sync(os::file& file) : file_(file) {}

    /// As os::file::sync(): on success, everything written before the call is durable. The failure it returns is never
    /// an is_refusal().
    result<void> sync(os::call_site where);

private:
    os::file& file_;
    std::mutex mutex_;
    std::optional<failure> failed_; // guarded by mutex_
};

} // namespace remanence::store
