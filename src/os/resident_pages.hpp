// Which pages of this process's memory are resident, from /proc/self/pagemap, and evicting them. The kernel's page of
// zeros does not count (Linux 6.7).
#pragma once

#include "base/range.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::os {

/// Neighbouring resident pages, as offsets from a base address.
struct resident_run {
    heap_range pages;
    bool is_private; // anonymous, or a private copy of a page of a file; otherwise the page of the file itself
};
/// Appends the resident pages of [base+offset, +bytes) to `runs`, sorted; nothing if the system does not tell. Throws
/// std::bad_alloc. O(pages).
void add_resident_runs(const std::byte* base, heap_range where, std::vector<resident_run>& runs);

struct resident_count {
    std::uint64_t file_bytes = 0;
    std::uint64_t private_bytes = 0;
    [[nodiscard]] std::uint64_t bytes() const { return file_bytes + private_bytes; }
};
/// Returns how much of the range is resident; zeros if the system does not tell. O(pages).
[[nodiscard]] resident_count count_resident(const std::byte* where, std::uint64_t bytes);

/// Returns how many bytes of the process's memory are resident, in O(1); 0 if the system does not tell.
[[nodiscard]] std::uint64_t resident_bytes_of_process();

/// Evicts pages: pages of files are dropped or written, others are swapped out. A hint. Linux 5.4.
void page_out(std::byte* where, std::uint64_t bytes);
/// Drops pages, which then read as the file, or as zeros. Leaves locked pages (mlock()) as they are.
void drop_unlocked_pages(std::byte* where, std::uint64_t bytes);

} // namespace remanence::os
