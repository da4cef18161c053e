// Kernels that compare two pages, one for each instruction set. All of them return the same result.
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
    bool (*is_supported)(); // tells whether processor and operating system support it
    /// Sets the bits of the units that differ and clears the others. Returns true if any bit is set. Both pages are 4
    /// KiB and need not be aligned. Precondition: is_supported().
    bool (*compare)(const std::byte* before, const std::byte* after, diff_masks& masks);
};

/// Returns all kernels of this build, preferred ones first. The last one, "scalar", is supported everywhere.
std::span<const diff_kernel> diff_kernels();

} // namespace remanence::view
