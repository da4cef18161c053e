// Size classes of small blocks, and the slabs they come from. Part of the file format. Depends on sections.hpp.
//
// 16 to 128 bytes in steps of 16, then four classes per doubling up to 16 KiB: so at most 1/5 of a block above 64 bytes
// is padding (a tenth on average). Above 16 KiB such classes would be multiples of a page, as whole pages are: slabs
// would gain nothing.
//
// A slab has the fewest pages that waste at most 1/8 and hold 32 slots, or as many as fill 32 KiB, but at least 4. More
// slots per slab would hardly be faster (a slab costs some 50 ns), and would spread a small heap over more pages.
#pragma once

#include "alloc/sections.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace remanence::alloc {

inline constexpr std::uint64_t k_small_bytes_max = 16 * KiB;
inline constexpr std::uint32_t k_class_count = 36;
static_assert(k_class_count <= format::k_alloc_class_slots);

struct size_class {
    std::uint32_t bytes;      // of a slot
    std::uint32_t reciprocal; // slot of byte i of a slab: (i * reciprocal) >> 32
    std::uint16_t slot_count;
    std::uint8_t page_count;
    std::uint8_t word_count; // 64-bit words of the bitmap in use

    [[nodiscard]] constexpr std::uint32_t slot_at(std::uint64_t byte) const {
        return static_cast<std::uint32_t>((byte * reciprocal) >> 32);
    }
};

/// The smallest class of at least `bytes`, which must not exceed k_small_bytes_max; a request of 0 counts as 1.
constexpr std::uint32_t size_class_of(std::size_t bytes) {
    const auto last = static_cast<std::uint32_t>(bytes - (bytes != 0));
    const auto doubling = static_cast<std::uint32_t>(std::bit_width(last | 64U)); // 7 up to 128 bytes
    return 4 * (doubling - 7) + (last >> (doubling - 3));
}

namespace detail {

constexpr std::uint32_t bytes_of_class(std::uint32_t index) {
    return index < 8 ? 16 * (index + 1) : (index % 4 + 5) << (index / 4 + 3);
}

constexpr std::uint32_t slab_pages(std::uint32_t bytes) {
    const auto slots_wanted = std::clamp<std::uint64_t>(32 * KiB / bytes, 4, 32);
    auto pages = static_cast<std::uint32_t>(divide_up(slots_wanted * bytes, k_page_bytes));
    while (pages * k_page_bytes % bytes > pages * k_page_bytes / 8)
        ++pages;
    return pages;
}

constexpr auto make_size_classes() {
    std::array<size_class, k_class_count> classes{};
    for (std::uint32_t i = 0; i < k_class_count; ++i) {
        const std::uint32_t bytes = bytes_of_class(i);
        const std::uint32_t pages = slab_pages(bytes);
        const auto slots = static_cast<std::uint32_t>(pages * k_page_bytes / bytes);
        classes[i] = {bytes, static_cast<std::uint32_t>(divide_up(std::uint64_t{1} << 32, bytes)),
                      static_cast<std::uint16_t>(slots), static_cast<std::uint8_t>(pages),
                      static_cast<std::uint8_t>(divide_up(slots, 64))};
    }
    return classes;
}

} // namespace detail

inline constexpr auto k_size_classes = detail::make_size_classes();
static_assert(k_size_classes.front().bytes == 16 && k_size_classes.back().bytes == k_small_bytes_max);
static_assert(size_class_of(k_small_bytes_max) == k_class_count - 1);

/// The class for a request with an alignment of at most a page. Slabs begin at a page, so a class whose size is a
/// multiple of the alignment has aligned slots; the next power of two is one, at most three classes up.
constexpr std::uint32_t size_class_of(std::size_t bytes, std::size_t alignment) {
    std::uint32_t index = size_class_of(std::max(bytes, alignment));
    while (!is_aligned(k_size_classes[index].bytes, alignment))
        ++index;
    return index;
}

/// Whether such a request comes from a slab; else from whole pages.
constexpr bool is_small(std::size_t bytes, std::size_t alignment) {
    return bytes <= k_small_bytes_max && alignment <= k_page_bytes;
}

} // namespace remanence::alloc
