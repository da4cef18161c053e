// The syncs of a file that several threads write to.
//
// The kernel tells of a failed writeback once: to the sync that comes first, whoever's data it was. So syncs go one after
// the other, and once one has failed, all later ones fail with it and none is asked for again (I5).
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <mutex>
#include <optional>

namespace remanence::store {

/// From any thread.
class sticky_sync {
public:
    /// The file must outlive it.
    explicit sticky_sync(os::file& file) : file_(file) {}

    /// As os::file::sync(). All that was written before the call is durable when it succeeds. Its failure is no is_refusal().
    result<void> sync(os::call_site where);

private:
    os::file& file_;
    std::mutex mutex_;
    std::optional<failure> failed_; // guarded by mutex_
};

} // namespace remanence::store
