// The ways of comparing two pages, one for each instruction set; all give the same.
#pragma once

#include "base/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace remanence::view {

inline constexpr std::size_t k_diff_unit_bytes = sizeof(std::uint64_t);
inline constexpr std::size_t k_diff_units_per_mask = 64;
inline constexpr std::size_t k_diff_masks = k_page_bytes / (k_diff_unit_bytes * k_diff_units_per_mask);

/// Bit i of mask m stands for unit 64 m + i of a page.
using diff_masks = std::array<std::uint64_t, k_diff_masks>;

struct diff_kernel {
    const char* name;
    bool (*is_supported)(); // by the processor and the operating system
    /// Sets the bits of the units that differ, clears the others, and says whether any is set. Both pages are 4 KiB
    /// and need not be aligned. To be called only when supported.
    bool (*compare)(const std::byte* before, const std::byte* after, diff_masks& masks);
};

/// All that this build has, the preferred first. The last one, "scalar", is supported everywhere.
std::span<const diff_kernel> diff_kernels();

} // namespace remanence::view
