// Which pages of a private mapping are copies of its own, so that they were written at some time since they were
// last dropped? The private-copy bit of /proc/self/pagemap; any Linux.
#pragma once

#include "os/descriptor.hpp"
#include "os/memory.hpp"
#include "track/page_scan.hpp"

#include <memory>
#include <vector>

namespace remanence::track {

using shared_descriptor = std::shared_ptr<const os::descriptor>;

/// A descriptor that speaks of the whole process's memory, so that all heaps share one: opened by who needs it first, closed
/// with the last one. A forked child opens its own. For objects that never die.
class process_descriptor {
public:
    result<shared_descriptor> get(result<os::descriptor> (*open)());

private:
    struct opened {
        os::descriptor value;
        os::fork_guard process;
    };
    std::weak_ptr<const opened> last_; // guarded by one mutex for all
};

/// What a tracker could not do, from errno.
unexpected tracker_failure(const char* operation);
/// /proc/self/pagemap, to be read.
result<shared_descriptor> open_pagemap();
std::uint64_t kernel_page_bytes();
/// Whether this entry of the page map is of a page that a private mapping has for itself.
bool is_private_copy(std::uint64_t entry);
/// Behind the last run, or as its continuation.
void append_run(std::vector<page_run>& runs, std::uint64_t offset, std::uint64_t bytes);

class private_copies {
public:
    static result<private_copies> create(std::byte* base);
    /// Appends those in `where` to `runs`, in address order. O(bytes).
    result<void> append(page_run where, std::vector<page_run>& runs);
    /// The same, but pages of zeros need not be among them; O(what is in memory) from Linux 6.7 on: for large ranges of which
    /// little is.
    result<void> append_sparse(page_run where, std::vector<page_run>& runs);

private:
    private_copies(std::byte* base, shared_descriptor pagemap) : base_(base), pagemap_(std::move(pagemap)) {}

    std::byte* base_;
    shared_descriptor pagemap_;
    bool scans_ = true;                  // unless the kernel was found not to
    std::vector<std::uint64_t> entries_; // scratch, from the first use on: a heap that nobody changes needs none
};

} // namespace remanence::track
