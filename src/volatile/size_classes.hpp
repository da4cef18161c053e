// The sizes of blocks in slabs, and how many units of address space (64 KiB each) a slab of each size has. Depends on
// base/units and alloc/slab_layout.
//
// Up to 128 bytes there is a size for each multiple of 16, then four sizes for each doubling: a block is at most a
// quarter larger than the request.
#pragma once

#include "alloc/slab_layout.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace remanence::transient {

inline constexpr std::size_t k_step_bytes = 16;       // the alignment of malloc()
inline constexpr std::size_t k_table_bytes_max = KiB; // class_table covers requests up to this size, without branches
inline constexpr std::size_t k_class_bytes_max = 64 * KiB; // larger blocks are runs of pages
inline constexpr std::uint64_t k_unit_bytes = 64 * KiB;    // of addresses; a slab has 1 or 4 units

inline constexpr std::uint32_t k_stepped_classes = 8;
inline constexpr std::uint32_t k_class_count = 44;

/// Returns the class for `bytes` bytes: at least one, at most k_class_bytes_max.
constexpr std::uint32_t class_of(std::size_t bytes) {
    if (bytes <= k_stepped_classes * k_step_bytes)
        return static_cast<std::uint32_t>((bytes - 1) / k_step_bytes);
    const auto width = static_cast<std::uint32_t>(std::bit_width(bytes - 1));
    return k_stepped_classes + 4 * (width - 8) + static_cast<std::uint32_t>(((bytes - 1) >> (width - 3)) & 3U);
}

constexpr std::size_t class_bytes(std::uint32_t index) {
    if (index < k_stepped_classes)
        return (index + 1) * k_step_bytes;
    const std::uint32_t above = index - k_stepped_classes;
    return std::size_t{5 + above % 4} << (5 + above / 4);
}

static_assert(class_bytes(class_of(1)) == 16 && class_bytes(class_of(128)) == 128 && class_bytes(class_of(129)) == 160);
static_assert(class_bytes(class_of(256)) == 256 && class_bytes(class_of(257)) == 320);
static_assert(class_of(k_class_bytes_max) == k_class_count - 1 && class_bytes(k_class_count - 1) == k_class_bytes_max);

/// Returns the units of a slab. Slabs are small, so that a few threads can afford to hold one of each size, and that blocks
/// which live long do not keep much memory from other sizes.
constexpr std::uint32_t units_of_class(std::uint32_t index) { return class_bytes(index) <= 4 * KiB ? 1 : 4; }

/// How blocks are placed: at multiples of 16; or so that each touches as few cache lines or pages as possible. Then a
/// block of up to a cache line never crosses the end of one; a larger block begins on a cache line, and a block of a
/// page or more begins on a page.
enum class placing : std::uint8_t { compact, on_lines };

constexpr std::size_t placed_bytes(std::size_t bytes, placing how) {
    return how == placing::compact ? bytes : alloc::bytes_on_lines(std::max(bytes, k_step_bytes));
}

/// Maps (bytes + 15) / 16 to the class; a request for 0 bytes counts as 1 byte.
using class_table = std::array<std::uint8_t, k_table_bytes_max / k_step_bytes + 1>;

constexpr class_table make_class_table(placing how) {
    class_table made{};
    for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = static_cast<std::uint8_t>(class_of(placed_bytes(std::max<std::size_t>(i, 1) * k_step_bytes, how)));
    return made;
}

inline constexpr class_table k_compact_classes = make_class_table(placing::compact);
inline constexpr class_table k_line_classes = make_class_table(placing::on_lines);

} // namespace remanence::transient
