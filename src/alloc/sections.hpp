// The layout of the heap: sections that double in size, each beginning with its metadata plane. Pure arithmetic, part
// of the file format. Depends on base/units and the descriptor's size.
//
//   section 0: [0, 1 MiB)              header page | descriptors | used bits | start bits | data pages
//   section k: [2^(k-1), 2^k) MiB                    descriptors | used bits | start bits | data pages
//
// A plane has 16 + 64 + 64 bytes for each page of its section (3.5 %): a descriptor, and two bitmaps with one bit for
// each granule of 8 bytes. Since sections double, the top bit of a page's index determines its section.
#pragma once

#include "base/units.hpp"
#include "format/alloc_state.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace remanence::alloc {

inline constexpr std::uint32_t k_section_pages_min = 256;
inline constexpr std::uint32_t k_section_count = 25;
inline constexpr std::uint64_t k_heap_pages_max = 0xffff'ffff; // the end of the heap is a page index too
inline constexpr std::uint64_t k_granule_bytes = 8;            // one bit of a bitmap stands for a granule
inline constexpr std::uint64_t k_bitmap_bytes = k_page_bytes / k_granule_bytes / 8;
static_assert(k_section_count <= format::k_alloc_section_slots);

struct section {
    std::uint32_t index;
    std::uint32_t first_page;
    std::uint32_t page_count;
    std::uint32_t first_data_page;
    std::uint64_t descriptors; // where a descriptor for page 0 would be; add the page index to get that of a page
    std::uint64_t used_bits;   // where the used bits of page 0 would be

    [[nodiscard]] constexpr std::uint64_t end_page() const { return std::uint64_t{first_page} + page_count; }
    [[nodiscard]] constexpr std::uint64_t descriptor_offset(std::uint32_t page) const {
        return descriptors + page * sizeof(format::page_descriptor);
    }
    [[nodiscard]] constexpr std::uint64_t used_bits_offset(std::uint32_t page) const {
        return used_bits + page * k_bitmap_bytes;
    }
    [[nodiscard]] constexpr std::uint64_t start_bits_offset(std::uint32_t page) const {
        return used_bits_offset(page) + page_count * k_bitmap_bytes;
    }
};
static_assert(sizeof(section) == 32);

namespace detail {

constexpr section make_section(std::uint32_t index) {
    const std::uint32_t first_page = index == 0 ? 0 : k_section_pages_min << (index - 1);
    const std::uint64_t page_count = index == 0 ? k_section_pages_min : first_page;
    const std::uint32_t header_pages = index == 0 ? 1 : 0;
    const std::uint64_t plane = (std::uint64_t{first_page} + header_pages) * k_page_bytes;
    const std::uint64_t used_bits = plane + page_count * sizeof(format::page_descriptor);
    const std::uint64_t data = used_bits + 2 * page_count * k_bitmap_bytes;
    return {index,
            first_page,
            static_cast<std::uint32_t>(page_count),
            static_cast<std::uint32_t>(data / k_page_bytes),
            plane - first_page * sizeof(format::page_descriptor),
            used_bits - first_page * k_bitmap_bytes};
}

constexpr auto make_sections() {
    std::array<section, k_section_count> sections{};
    for (std::uint32_t i = 0; i < k_section_count; ++i)
        sections[i] = make_section(i);
    return sections;
}

} // namespace detail

/// Computed at compile time: at run time this took a third of the instructions of an allocation.
inline constexpr auto k_sections = detail::make_sections();

constexpr const section& section_at(std::uint32_t index) { return k_sections[index]; }

constexpr const section& section_of(std::uint32_t page) {
    return section_at(31 - static_cast<std::uint32_t>(std::countl_zero((page / (k_section_pages_min / 2)) | 1U)));
}

static_assert(section_of(0).index == 0 && section_of(255).index == 0 && section_of(256).index == 1);
static_assert(section_of(511).index == 1 && section_of(512).index == 2 && section_of(~0U).index == 24);
static_assert(section_at(0).first_data_page == 10 && section_at(1).first_data_page == 265);
static_assert(section_at(24).end_page() == k_heap_pages_max + 1);
static_assert(section_at(2).start_bits_offset(1023) + k_bitmap_bytes == section_at(2).first_data_page * k_page_bytes);

} // namespace remanence::alloc
