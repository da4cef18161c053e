// Finds the pages of a private mapping that are private copies, that is, were written since they were last dropped.
// Uses the private-copy bit of /proc/self/pagemap; works on any Linux.
#pragma once

#include "os/descriptor.hpp"
#include "os/memory.hpp"
#include "track/page_scan.hpp"
#include "track/pagemap_scan.hpp"

#include <memory>
#include <vector>

namespace remanence::track {

using shared_descriptor = std::shared_ptr<const os::descriptor>;

/// A descriptor for the whole process's memory, which all heaps share. The first user opens it, and the last one closes
/// it. A forked child opens its own. Objects of this class must never be destroyed.
class process_descriptor {
public:
    result<shared_descriptor> get(result<os::descriptor> (*open)());

private:
    struct opened {
        os::descriptor value;
        os::fork_guard process;
    };
    std::weak_ptr<const opened> last_; // guarded by one mutex for all objects
};

/// Returns the error of a tracker's operation, from errno.
unexpected tracker_failure(const char* operation);
/// Opens /proc/self/pagemap for reading.
result<shared_descriptor> open_pagemap();
std::uint64_t kernel_page_bytes();
/// True if this entry of /proc/self/pagemap is that of a private copy.
bool is_private_copy(std::uint64_t entry);

class private_copies {
public:
    static result<private_copies> create(std::byte* base);
    /// Appends the private copies in `where` to `runs`, in address order. O(bytes).
    result<void> append(page_run where, std::vector<page_run>& runs);
    /// As append(), but may skip pages of zeros, and skips pages in swap that the scan tier has protected since they were
    /// written, since its markers look like them. For large ranges with little in memory: from Linux 6.7 on O(pages in
    /// memory).
    result<void> append_sparse(page_run where, std::vector<page_run>& runs);

private:
    private_copies(std::byte* base, shared_descriptor pagemap) : base_(base), pagemap_(std::move(pagemap)) {}

    std::byte* base_;
    shared_descriptor pagemap_;
    bool scans_ = true; // false after the kernel has refused PAGEMAP_SCAN
    // Scratch, allocated at the first use.
    std::vector<std::uint64_t> entries_;
    std::vector<kernel::page_region> regions_;
};

} // namespace remanence::track
