// Reads the last commit of a heap that another process may be writing to.
//
// Nothing is locked: a program can open its heap during an inspection. A heap that no process has open for writing is
// inspected as it is. If the superblocks are the same afterwards, no process has begun to write meanwhile, so whatever
// contradicts the superblock, the log or a checksum ("does not fit") is damage. If a process has the heap open for
// writing, or begins to write, it is not disturbed either. Then superblock, log, chunk map and checksum tables are read
// and checked; they describe the last commit. The writer may apply later commits to the pages meanwhile, or close the
// heap. But each page that is read is checked against the checksum in the tables or the log, so a page of another
// commit is not mistaken for one of this commit.
//
// The result is as certain as checksums are. The checksums of superblock, log, map and tables have 64 bits; that of a
// page has 32. So a page that was overwritten with other bytes meanwhile is accepted once in 2^32 times. Then the
// caller's result (such as a copy of the heap) contains one page of a later commit, and nothing shows that. If n pages
// in all attempts together were overwritten before they were read, the probability of that is n/2^32: 1 in 4,300 for a
// million such pages (4 GiB). A page that is not overwritten meanwhile has no such risk.
//
// When something does not fit, the cause may be the writer or damage. So the heap is read again (the second look). It
// is damage if the superblock is still the same, and
//
//  - the page does not fit in the second look either, no record that was added between the two looks changes it, and
//    its expected checksum is the same as before. Proof: while a superblock is current, each page is written only once,
//    by one checkpoint, as of a version whose records are durable by then. So the contents that the first look found
//    were written as of a version that the second look knows. The first look applied all records up to that version
//    that change the page, and such records repair every mixture of old and new bytes (docs/format.md, "Replay may find
//    its pages in any state"). The first look alone proves nothing: on ext4, after a chunk was written past the page
//    cache, a reader was seen to get the chunk's former bytes for a moment, although it had read the record that was
//    written after them; or
//  - it is a node of the tables, or the chunk map, since structures that a superblock names are not overwritten while
//    it is current (I1); or
//  - the log has the same bytes at the same place, since a record is complete before others are written behind it; or
//  - the file still ends at the same byte, although a superblock or a record needs more.
//
// A page that is expected to be zero, in a chunk that has no contents, is never proven to be damaged, because a commit
// may be filling it. If the bytes fit their checksums but contradict each other, they were committed so; this is
// damage.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace remanence::inspect {

/// Counts attempts, for several calls of with_last_commit() that share a limit.
struct attempt_count {
    const std::uint64_t most;
    std::uint64_t made = 0;
};

/// Calls `use` with the heap as of its last commit. That commit is at least as new as all that were acknowledged before
/// the call, except those with durability none that are only in their process's memory. It may be in the log although
/// its sync is still under way, is still to come, or has failed. If `use` fails with damage, or adds to problems(), the
/// writer may have caused that. Then `use` is called again with a later commit; when no attempts are left, returns
/// errc::in_use. Any other failure of `use` is returned at once.
///
/// Returns the heap as `use` last saw it. The heap is damaged if it has problems(). These contain all damage that `use`
/// met; if the heap was written to meanwhile, only what is certainly damage.
result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     attempt_count& attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use);
/// Does the same, with a limit for the attempts of this call alone.
result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     std::uint64_t attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use);

} // namespace remanence::inspect
