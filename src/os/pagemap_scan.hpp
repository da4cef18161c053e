// The kernel's PAGEMAP_SCAN interface (Linux 6.7), which older headers do not declare
// (Documentation/admin-guide/mm/pagemap.rst).
#pragma once

#include <cstdint>
#include <sys/ioctl.h>

namespace remanence::os::kernel {

constexpr std::uint64_t k_page_is_written = 1U << 1;
constexpr std::uint64_t k_page_is_file = 1U << 2;
constexpr std::uint64_t k_page_is_present = 1U << 3;
constexpr std::uint64_t k_page_is_swapped = 1U << 4;
constexpr std::uint64_t k_page_is_pfnzero = 1U << 5;
constexpr std::uint64_t k_pm_scan_wp_matching = 1U << 0;
constexpr std::uint64_t k_pm_scan_check_wpasync = 1U << 1;

struct page_region {
    std::uint64_t start, end, categories;
};
struct pm_scan_arg {
    std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long k_pagemap_scan = _IOWR('f', 16, pm_scan_arg);

} // namespace remanence::os::kernel
