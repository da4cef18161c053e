// How a heap that several processes share is opened: as the first of them, beside others, or as a guest who only reads.
#pragma once

#include "base/result.hpp"
#include "txn/opening.hpp"
#include "txn/opening_steps.hpp"

namespace remanence::txn {

/// Makes an empty heap for all who want to open it. Another process may have made it before, which is as good where opening it was asked
/// for, too.
result<void> create_to_share(const open_request& request);
/// Opens for writing. What the last processes left is recovered, unless others have it open: then the heap is as of the superblock that
/// rules, which is held and pinned.
result<opened_heap> open_shared(const open_request& request);
/// Opens to read, beside those that have it open; if nobody shares it, by `otherwise`.
result<opened_heap> open_as_guest(const open_request& request, opener otherwise);

} // namespace remanence::txn
