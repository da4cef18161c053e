// Where things lie in the heap: sections that double, each beginning with its metadata plane. Pure arithmetic, part of the
// file format. Depends on base/units and the descriptor's size.
//
//   section 0: [0, 1 MiB)              header page | descriptors | bitmaps | data pages
//   section k: [2^(k-1), 2^k) MiB                    descriptors | bitmaps | data pages
//
// A plane has 16 + 32 bytes for each page of its section (1.2 %): a descriptor, and a bitmap with one bit per 16 bytes.
// Since sections double, a page's plane follows from the top bit of its index.
#pragma once

#include "base/units.hpp"
#include "format/alloc_state.hpp"

#include <bit>
#include <cstdint>

namespace remanence::alloc {

inline constexpr std::uint32_t k_section_pages_min = 256;
inline constexpr std::uint32_t k_section_count = 25;
inline constexpr std::uint64_t k_heap_pages_max = 0xffff'ffff; // the end of the heap is a page index too
inline constexpr std::uint64_t k_slot_bytes = 16;              // what one bit of a bitmap stands for, at least
inline constexpr std::uint64_t k_bitmap_bytes = k_page_bytes / k_slot_bytes / 8;
static_assert(k_section_count <= format::k_alloc_section_slots);

struct section {
    std::uint32_t first_page;
    std::uint32_t page_count;

    /// Sections are numbered from 0 up.
    [[nodiscard]] constexpr std::uint32_t index() const {
        return first_page == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(first_page)) - 8;
    }
    [[nodiscard]] constexpr std::uint32_t header_pages() const { return first_page == 0 ? 1 : 0; }
    [[nodiscard]] constexpr std::uint32_t first_data_page() const {
        return first_page + header_pages() + page_count / k_section_pages_min * 3;
    }
    [[nodiscard]] constexpr std::uint64_t end_page() const { return std::uint64_t{first_page} + page_count; }
    [[nodiscard]] constexpr std::uint64_t plane_offset() const {
        return (std::uint64_t{first_page} + header_pages()) * k_page_bytes;
    }
    [[nodiscard]] constexpr std::uint64_t descriptor_offset(std::uint32_t page) const {
        return plane_offset() + std::uint64_t{page - first_page} * sizeof(format::page_descriptor);
    }
    [[nodiscard]] constexpr std::uint64_t bitmap_offset(std::uint32_t page) const {
        return plane_offset() + std::uint64_t{page_count} * sizeof(format::page_descriptor) +
               std::uint64_t{page - first_page} * k_bitmap_bytes;
    }
    friend constexpr bool operator==(const section&, const section&) = default;
};

constexpr section section_of(std::uint32_t page) {
    const std::uint32_t pages = 1U << (31 - std::countl_zero(page | k_section_pages_min)); // bit_floor, which would test for 0
    return {page & pages, pages}; // in section 0 that bit is not set, in all others it is the first page
}

constexpr section section_at(std::uint32_t index) {
    return index == 0 ? section{0, k_section_pages_min}
                      : section{k_section_pages_min << (index - 1), k_section_pages_min << (index - 1)};
}

static_assert(section_of(0) == section_at(0) && section_of(255) == section_at(0) && section_of(256) == section_at(1));
static_assert(section_of(511) == section_at(1) && section_of(512) == section_at(2) && section_of(~0U) == section_at(24));
static_assert(section_at(0).first_data_page() == 4 && section_at(1).first_data_page() == 259);
static_assert(section_at(3).index() == 3 && section_at(24).index() == 24);
static_assert(section_at(2).bitmap_offset(1023) + k_bitmap_bytes == section_at(2).first_data_page() * k_page_bytes);

} // namespace remanence::alloc
