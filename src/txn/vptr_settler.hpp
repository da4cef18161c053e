// Objects with virtual functions: what a commit does about their vptrs. An optional part (src/types/class_settler.hpp).
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "change/change_set.hpp"

#include <cstdint>
#include <span>

namespace remanence::view {
class memory_view;
}

namespace remanence::txn {

class committer;

class vptr_settler {
public:
    vptr_settler() = default;
    vptr_settler(const vptr_settler&) = delete;
    vptr_settler& operator=(const vptr_settler&) = delete;
    virtual ~vptr_settler() = default;

    /// Does what committer::gather() does, for everything. Then replaces vptrs in the written pages that lead into a
    /// module. If it fails, the commit may be repeated. The caller holds at_store and the allocation lock.
    virtual result<change::commit_scope> gather(committer& of, view::memory_view& view) = 0;

    /// Replaces vptrs in a part of memory. Returns whether it has written to memory, perhaps elsewhere, too. Throws
    /// std::bad_alloc.
    virtual result<bool> settle(heap_range where) = 0;
};

/// Implements vptr_settler::gather() with `by.settle()`.
result<change::commit_scope> gather_and_settle(vptr_settler& by, committer& of, view::memory_view& view);

} // namespace remanence::txn
