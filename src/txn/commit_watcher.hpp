// Who is told of each commit before it replaces committed content. A committer without a watcher has a null pointer.
#pragma once

#include "change/change_set.hpp"

namespace remanence::txn {

class commit_watcher {
public:
    commit_watcher() = default;
    commit_watcher(const commit_watcher&) = delete;
    commit_watcher& operator=(const commit_watcher&) = delete;
    virtual ~commit_watcher() = default;

    /// The committed content (R1) is still that of the commit before. The caller holds at_store.
    virtual void before_commit(const change::change_set& changes) noexcept = 0;
};

} // namespace remanence::txn
