// Slabs, and the lists for finding a slab with room. Part of the file format. Depends on sections.hpp.
//
// A slab is 64 KiB at a multiple of 64 KiB, for blocks of any size up to an eighth of it. Blocks are whole granules of
// 8 bytes, and begin at a multiple of the largest power of two that divides their size, up to a cache line. So blocks
// of 16, 32 and 64 bytes never straddle a line, and the nodes of most trees begin at the start of a line.
//
// A hole is a run of free granules. A bin contains the slabs whose longest hole has a certain length. There is one bin
// for each length up to 32 granules, then four for each doubling up to the longest small block.
#pragma once

#include "alloc/sections.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace remanence::alloc {

inline constexpr std::uint32_t k_slab_pages = 16;
inline constexpr std::uint64_t k_slab_bytes = k_slab_pages * k_page_bytes;
inline constexpr std::uint32_t k_slab_granules = k_slab_bytes / k_granule_bytes;
inline constexpr std::uint64_t k_small_bytes_max = k_slab_bytes / 8;
static_assert(k_section_pages_min % k_slab_pages == 0, "each section is made of whole slabs");

/// A request for 0 bytes counts as 1 byte.
constexpr std::uint32_t granules_of(std::size_t bytes) {
    return static_cast<std::uint32_t>(bytes == 0 ? 1 : divide_up(bytes, k_granule_bytes));
}

/// True if blocks of this size consist of whole pages.
constexpr bool fills_pages(std::uint32_t granules) { return granules % (k_page_bytes / k_granule_bytes) == 0; }

/// True if a request of this size and alignment is served from a slab. Other requests, also those for whole pages, are
/// served by runs of pages, so that their blocks touch as few pages as possible.
constexpr bool is_small(std::size_t bytes, std::size_t alignment) {
    return bytes <= k_small_bytes_max && alignment <= k_page_bytes && !fills_pages(granules_of(bytes));
}

/// Returns the size for a block of `bytes` bytes that must touch as few cache lines or pages as possible; the size
/// decides where a block begins. Blocks of at most 64 bytes never cross the end of a cache line; larger ones begin at a
/// cache line, and those of a page or more at a page. A size larger than any heap is returned unchanged.
constexpr std::size_t bytes_on_lines(std::size_t bytes) {
    constexpr std::size_t k_line_bytes = 64;
    if (bytes <= k_line_bytes)
        return std::max(std::bit_ceil(bytes), k_granule_bytes);
    if (bytes > k_heap_bytes_max)
        return bytes;
    return bytes < k_page_bytes ? align_up(bytes, k_line_bytes) : align_up(bytes, k_page_bytes);
}
static_assert(bytes_on_lines(0) == 8 && bytes_on_lines(24) == 32 && bytes_on_lines(64) == 64);
static_assert(bytes_on_lines(65) == 128 && bytes_on_lines(4095) == 4096 && bytes_on_lines(4097) == 8192);

/// Returns the alignment of a block of this size: the largest power of two that divides it, at most 64 KiB; a huge page
/// for blocks that fill one.
constexpr std::size_t alignment_on_lines(std::size_t bytes) {
    constexpr std::size_t k_huge_page_bytes = 2 * MiB;
    constexpr std::size_t k_alignment_max = 64 * KiB;
    return bytes >= k_huge_page_bytes ? k_huge_page_bytes : std::min(bytes & -bytes, k_alignment_max);
}
static_assert(alignment_on_lines(192) == 64 && alignment_on_lines(128) == 128 &&
              alignment_on_lines(3 * MiB) == 2 * MiB);

inline constexpr std::uint32_t k_line_granules = 64 / k_granule_bytes; // a cache line

/// Returns the alignment of a block of `granules` granules, in granules.
constexpr std::uint32_t natural_alignment(std::uint32_t granules) {
    return std::min(granules & -granules, k_line_granules);
}

constexpr std::uint32_t slab_of(std::uint32_t page) { return page & ~(k_slab_pages - 1); }

inline constexpr std::uint32_t k_exact_bins = 32;
inline constexpr std::uint32_t k_small_granules_max = k_small_bytes_max / k_granule_bytes;

/// Returns the bin of a slab whose longest hole has `granules` granules, at least one. The last bin contains the slabs
/// that have room for any small block.
constexpr std::uint32_t bin_of(std::uint32_t granules) {
    if (granules <= k_exact_bins)
        return granules - 1;
    granules = std::min(granules, k_small_granules_max);
    const auto doubling = static_cast<std::uint32_t>(std::bit_width(granules)) - 1;
    return k_exact_bins + 4 * (doubling - 5) + ((granules >> (doubling - 2)) & 3U);
}

inline constexpr std::uint32_t k_bin_count = bin_of(k_small_granules_max) + 1;
static_assert(k_bin_count <= format::k_alloc_bin_slots);

/// Returns the least length that the longest hole of a slab in this bin has.
constexpr std::uint32_t least_of_bin(std::uint32_t bin) {
    if (bin < k_exact_bins)
        return bin + 1;
    const std::uint32_t doubling = 5 + (bin - k_exact_bins) / 4;
    return std::max((4 + (bin - k_exact_bins) % 4) << (doubling - 2), k_exact_bins + 1);
}

static_assert(bin_of(1) == 0 && bin_of(32) == 31 && bin_of(33) == 32 && bin_of(40) == 33);
static_assert(least_of_bin(32) == 33 && least_of_bin(bin_of(k_slab_granules)) == k_small_granules_max);

} // namespace remanence::alloc
