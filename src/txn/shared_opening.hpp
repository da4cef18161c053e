// Opens a shared heap: as the first process, beside others, or as a guest, which only reads.
#pragma once

#include "base/result.hpp"
#include "txn/opening.hpp"
#include "txn/opening_steps.hpp"

namespace remanence::txn {

/// Makes an empty heap for all that want to open it. Another process may have made it first; that is fine if the
/// caller would open it, too.
result<void> create_to_share(const open_request& request);
/// Opens for writing. Recovers what the last processes left, unless others have the heap open: then the heap is as
/// its current superblock says, which is held, and its version pinned.
result<opened_heap> open_shared(const open_request& request);
/// Opens to read beside processes that have it open. If nobody shares it, calls `otherwise`.
result<opened_heap> open_as_guest(const open_request& request, opener otherwise);

} // namespace remanence::txn
