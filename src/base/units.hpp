// Sizes, alignment and page arithmetic. The format's page is 4 KiB, even if the kernel's pages are larger.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remanence {

inline constexpr std::uint64_t KiB = 1024;
inline constexpr std::uint64_t MiB = 1024 * KiB;
inline constexpr std::uint64_t GiB = 1024 * MiB;
inline constexpr std::uint64_t TiB = 1024 * GiB;

inline constexpr std::uint64_t k_page_bytes = 4 * KiB; // unit of tracking, checksums and before-images
inline constexpr std::uint64_t k_sector_bytes = 512;   // R6: written whole or not at all

/// The largest heap, even if the file system allows larger files: the allocator counts pages with 32 bits
/// (format/alloc_state.hpp, F1).
inline constexpr std::uint64_t k_heap_bytes_max = 16 * TiB;

/// Rounds up. `alignment` must be a power of two.
constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t alignment) {
    return (n + alignment - 1) & ~(alignment - 1);
}
constexpr std::uint64_t align_down(std::uint64_t n, std::uint64_t alignment) { return n & ~(alignment - 1); }
constexpr bool is_aligned(std::uint64_t n, std::uint64_t alignment) { return (n & (alignment - 1)) == 0; }
constexpr bool is_power_of_two(std::uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }
constexpr std::uint64_t divide_up(std::uint64_t n, std::uint64_t by) { return (n + by - 1) / by; }

} // namespace remanence
