// The last commit of a heap that somebody else may be writing to. May use: txn/inspection.hpp and what that may use.
//
// A heap that nobody has open for writing is locked and inspected. Else nothing is locked, and the writer does not
// notice: superblock, log, chunk map and checksum tables are read, and checked, to make a picture of the last commit in
// memory. The writer may fold later commits into the pages meanwhile, or close the heap; but each page is checked when it
// is read, against the checksum in tables or log, so that a page of another commit never passes for one of this.
//
// What does not fit may be the writer's doing, or damage. It is damage when an attempt failed although superblocks and
// log were the same before and after it: commits show in the log before they are folded, and a log begins anew only
// after another superblock.
#pragma once

#include "base/result.hpp"
#include "txn/inspection.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace remanence::txn {

/// Calls `use` with the heap as of its last commit: at least as new as all that was acknowledged before the call, but for
/// commits that wait for nothing (durability none) and are in their process only. A commit that shows in the log may be in
/// it although its sync is still under way, is to come, or failed. When `use` fails with
/// damage, and the heap moved on, it is called again with a later commit; up to `attempts` times, then errc::in_use. Any
/// other failure of `use` is returned at once. Damage within what is only noted (inspection::problems()) is for `use` to
/// fail with.
result<void> with_last_commit(os::file_system& files, const std::string& path, std::uint64_t attempts,
                              const inspection_progress& progress, const std::function<result<void>(inspection&)>& use);

} // namespace remanence::txn
