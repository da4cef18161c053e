#include "os/resident_pages.hpp"

#include "base/units.hpp"
#include "os/descriptor.hpp"
#include "os/pagemap_scan.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <span>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

namespace remanence::os {

namespace {

std::uint64_t kernel_page() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

// Documentation/admin-guide/mm/pagemap.rst: eight bytes per page.
constexpr std::uint64_t k_file_bit = std::uint64_t{1} << 61;
constexpr std::uint64_t k_present_bit = std::uint64_t{1} << 63;

/// Reads the entries of pages from [at, end), addresses. Calls f as for_each_resident() does.
template <class F>
void read_entries(int pagemap, std::uint64_t at, std::uint64_t end, const F& f) {
    const std::uint64_t page = kernel_page();
    std::array<std::uint64_t, 1024> entries;
    while (at < end) {
        const std::uint64_t some = std::min<std::uint64_t>((end - at) / page, entries.size());
        const ssize_t got = ::pread(pagemap, entries.data(), some * sizeof(std::uint64_t),
                                    static_cast<off_t>(at / page * sizeof(std::uint64_t)));
        if (got <= 0)
            return;
        for (const std::uint64_t each :
             std::span(entries).first(static_cast<std::size_t>(got) / sizeof(std::uint64_t))) {
            if ((each & k_present_bit) != 0)
                f(at, page, (each & k_file_bit) == 0);
            at += page;
        }
    }
}

/// Calls f(address, bytes, is_private) for the resident pages of the range, by address. Leaves out the kernel's page of
/// zeros, which takes no memory: it is what a page shows that was read before it was ever written. Before Linux 6.7 the
/// system does not tell it from others.
template <class F>
void for_each_resident(const std::byte* where, std::uint64_t bytes, const F& f) {
    const descriptor opened(open_file("/proc/self/pagemap", O_RDONLY));
    if (!opened.valid())
        return;
    const std::uint64_t first = align_down(reinterpret_cast<std::uint64_t>(where), kernel_page());
    const std::uint64_t end = align_up(reinterpret_cast<std::uint64_t>(where) + bytes, kernel_page());
    std::array<kernel::page_region, 256> regions;
    kernel::pm_scan_arg scan{};
    scan.size = sizeof scan;
    scan.end = end;
    scan.vec = reinterpret_cast<std::uint64_t>(regions.data());
    scan.vec_len = regions.size();
    scan.category_inverted = kernel::k_page_is_pfnzero;
    scan.category_mask = kernel::k_page_is_present | kernel::k_page_is_pfnzero;
    scan.return_mask = kernel::k_page_is_present | kernel::k_page_is_file;
    for (scan.start = first; scan.start < end; scan.start = scan.walk_end) {
        const int found = ::ioctl(opened.get(), kernel::k_pagemap_scan, &scan);
        if (found < 0)
            return read_entries(opened.get(), scan.start, end, f);
        for (const kernel::page_region& each : std::span(regions).first(static_cast<std::size_t>(found)))
            f(each.start, each.end - each.start, (each.categories & kernel::k_page_is_file) == 0);
    }
}

} // namespace

void add_resident_runs(const std::byte* base, heap_range where, std::vector<resident_run>& runs) {
    const auto first = reinterpret_cast<std::uint64_t>(base);
    for_each_resident(base + where.offset, where.bytes,
                      [&](std::uint64_t address, std::uint64_t bytes, bool is_private) {
                          const std::uint64_t at = address - first;
                          if (!runs.empty() && runs.back().pages.end() == at && runs.back().is_private == is_private)
                              runs.back().pages.bytes += bytes;
                          else
                              runs.push_back({{at, bytes}, is_private});
                      });
}

resident_count count_resident(const std::byte* where, std::uint64_t bytes) {
    resident_count found;
    for_each_resident(where, bytes, [&](std::uint64_t, std::uint64_t each, bool is_private) {
        (is_private ? found.private_bytes : found.file_bytes) += each;
    });
    return found;
}

// Documentation/filesystems/proc.rst: the second number of statm is the number of resident pages.
std::uint64_t resident_bytes_of_process() {
    const descriptor opened(open_file("/proc/self/statm", O_RDONLY));
    std::array<char, 128> text{};
    if (!opened.valid() || ::read(opened.get(), text.data(), text.size() - 1) <= 0)
        return 0;
    char* next = nullptr;
    (void)std::strtoull(text.data(), &next, 10);
    return std::strtoull(next, nullptr, 10) * kernel_page();
}

void page_out(std::byte* where, std::uint64_t bytes) { ::madvise(where, bytes, MADV_PAGEOUT); }

void drop_unlocked_pages(std::byte* where, std::uint64_t bytes) { ::madvise(where, bytes, MADV_DONTNEED); }

} // namespace remanence::os
