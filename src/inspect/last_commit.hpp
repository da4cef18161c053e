// The last commit of a heap that somebody else may be writing to.
//
// Nothing is locked: a program can open its heap while somebody looks at it. A heap that nobody has open for writing is
// inspected as it is. If the superblocks are the same afterwards, nobody has begun to write meanwhile, and what does not fit
// is damage. Else, and when somebody has it open for writing from the beginning, the writer does not notice either:
// superblock, log, chunk map and checksum tables are read, and checked, to make a picture of the last commit in memory. The writer may apply later commits into the pages meanwhile, or close the heap; but each page is checked when it
// is read, against the checksum in tables or log, so that a page of another commit does not pass for one of this.
//
// That is as certain as checksums are. Those of superblock, log, map and tables have 64 bits. That of a page has 32: a page
// that was overwritten between, with other bytes, passes once in 2^32 times, and the copy or the answer then has one page
// of a later commit that nobody will notice. So among n pages that are met in another state, in all attempts, one
// slips through with a chance of n/2^32: one in 4,300 for a million such pages (4 GiB overwritten while they are read).
// A page that is not overwritten meanwhile has no such chance.
//
// What does not fit may be the writer's doing, or damage. The heap is looked at again then, and it is damage if the
// superblock is still the same, and
//
//  - it does not fit in the second look either, no record that came between the two looks changes the page, and it is to have
//    the checksum that it had to have before. For as long as a superblock rules, pages are written but once, by one checkpoint,
//    as of a version whose records are durable by then. So what the first look found of the page was written as of a version that
//    the second look knows, and of the records up to that one the first look applied all that change the page: every mixture of
//    old and new reads right then (docs/format.md, "Replay may find its pages in any state"). That the first look alone is no
//    proof was seen on ext4: of a chunk that was written past the page cache, a reader got the former bytes for a moment,
//    although it had read the record that comes after them; or
//  - it is a node of the tables, or the chunk map: what a superblock names is not overwritten while it rules (I1); or
//  - the log has the same at the same place: a record that others follow was complete before they were written; or
//  - the file still ends at the same byte: what a superblock or a record needs of it was there before.
//
// A page that is to be zeros, in a chunk that has no contents, is never proven: a commit may just be filling it.
// What only contradicts itself, while all bytes fit, is a state that was committed so, hence damage.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace remanence::inspect {

/// How often it was tried, over several calls of with_last_commit().
struct attempt_count {
    const std::uint64_t most;
    std::uint64_t made = 0;
};

/// Calls `use` with the heap as of its last commit: at least as new as all that was acknowledged before the call, but
/// for commits that wait for nothing (durability none) and are in their process only. A commit that shows in the log may be
/// in it although its sync is still under way, is to come, or failed. When `use` fails with
/// damage, or notes some (inspection::problems()), which may be the writer's doing, it is called again with a later
/// commit, while there are attempts left, then errc::in_use. Any other failure of `use` is returned at once.
///
/// Returns the heap as `use` saw it last. It is damaged if it has problems(); then all that `use` failed with or noted is
/// there, or, when the heap was written to meanwhile, what of it is damage for certain.
result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     attempt_count& attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use);
/// With so many attempts.
result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     std::uint64_t attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use);

} // namespace remanence::inspect
