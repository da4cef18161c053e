// The last commit of a heap that another process may be writing to.
//
// Nothing is locked: a program can open its heap during an inspection. A heap that no process has open for writing is
// inspected as it is. If the superblocks are the same afterwards, no process has begun to write meanwhile, and whatever
// does not fit is damage. Otherwise, and if a process has the heap open for writing from the beginning, the writer is
// not disturbed either: superblock, log, chunk map and checksum tables are read and checked, to make a picture of the
// last commit in memory. The writer may apply later commits to the pages meanwhile, or close the heap. But each page is
// checked when it is read, against the checksum in the tables or the log, so a page of another commit is not mistaken
// for one of this commit.
//
// This is as certain as checksums are. Those of superblock, log, map and tables have 64 bits. That of a page has 32
// bits: a page that was overwritten meanwhile with other bytes passes once in 2^32 times. Then the copy or the answer
// contains one page of a later commit, and nothing shows that. So among n pages that are met in another state, in all
// attempts together, one passes with a probability of n/2^32: 1 in 4,300 for a million such pages (4 GiB overwritten
// while they are read). A page that is not overwritten meanwhile has no such risk.
//
// When something does not fit, the writer may have caused that, or it is damage. So the heap is read again. It is
// damage if the superblock is still the same, and
//
//  - the page does not fit in the second look either, no record that was added between the two looks changes it, and
//    its expected checksum is the same as before. As long as a superblock is current, pages are written only once, by
//    one checkpoint, as of a version whose records are durable by then. So the contents that the first look found were
//    written as of a version that the second look knows. Of the records up to that version, the first look applied all
//    that change the page: every mixture of old and new bytes becomes correct by that (docs/format.md, "Replay may find
//    its pages in any state"). The first look alone is no proof. This was observed on ext4: after a chunk was written
//    past the page cache, a reader got its former bytes for a moment, although it had read the record that comes after
//    them; or
//  - it is a node of the tables, or the chunk map: structures that a superblock names are not overwritten while it is
//    current (I1); or
//  - the log has the same bytes at the same place: a record that others follow was complete before those were written;
//    or
//  - the file still ends at the same byte: the part that a superblock or a record needs was there before.
//
// A page that is expected to be zero, in a chunk that has no contents, is never proven to be damaged: a commit may be
// filling it. If all bytes fit and only contradict each other, that state was committed, so it is damage.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace remanence::inspect {

/// Counts the attempts of several calls of with_last_commit().
struct attempt_count {
    const std::uint64_t most;
    std::uint64_t made = 0;
};

/// Calls `use` with the heap as of its last commit. It is at least as new as all commits that were acknowledged before
/// the call, except commits that wait for nothing (durability none) and are only in their process. It may contain a
/// commit that is in the log although its sync is still under way, is still to come, or has failed. If `use` fails with
/// damage, or notes some (inspection::problems()), the writer may have caused it. Then `use` is called again with a
/// later commit; when no attempts are left, the result is errc::in_use. Any other failure of `use` is returned at once.
///
/// Returns the heap as `use` saw it last. It is damaged if it has problems(). These are all failures and notes of
/// `use`; if the heap was written to meanwhile, only those that are certainly damage.
result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     attempt_count& attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use);
/// With so many attempts.
result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     std::uint64_t attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use);

} // namespace remanence::inspect
