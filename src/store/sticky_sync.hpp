// The syncs of a file that several threads write to.
//
// The kernel reports a failed writeback once: to the first sync after it, no matter which thread wrote the data. So
// syncs run one after the other. Once one has failed, all later ones fail with it, and the kernel is not asked again
// (I5).
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <mutex>
#include <optional>

namespace remanence::store {

/// Thread-safe.
class sticky_sync {
public:
    /// The file must outlive this.
    explicit sticky_sync(os::file& file) : file_(file) {}

    /// As os::file::sync(): if it succeeds, everything written before the call is durable. Its failure is never an
    /// is_refusal().
    result<void> sync(os::call_site where);

private:
    os::file& file_;
    std::mutex mutex_;
    std::optional<failure> failed_; // guarded by mutex_
};

} // namespace remanence::store
