// Opens a shared heap: as the first process, beside others, or as a guest, which only reads.
#pragma once

#include "base/result.hpp"
#include "txn/opening.hpp"
#include "txn/opening_steps.hpp"

namespace remanence::txn {

/// Creates an empty heap, for any process to open. If another process has created it first, succeeds, unless
/// open_mode::create was asked for.
result<void> create_to_share(const open_request& request);
/// Opens for writing. If no other process has the heap open, recovers it. Otherwise the heap is as its current
/// superblock says; that superblock is held and its version pinned.
result<opened_heap> open_shared(const open_request& request);
/// Opens the heap to read it beside processes that share it. If none does, calls `otherwise`.
result<opened_heap> open_as_guest(const open_request& request, opener otherwise);

} // namespace remanence::txn
