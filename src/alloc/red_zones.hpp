// Red zones: behind what was asked for, a block has a pattern, which shows who writes too far, and then a record that begins with
// the number of bytes asked for. Depends on the standard library only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace remanence::alloc {

// In heaps with a file, whose format this is. (Records of volatile heaps are longer.)
inline constexpr std::size_t k_red_zone_bytes_min = 16;
inline constexpr std::size_t k_red_zone_record_bytes = sizeof(std::uint64_t);

/// `record_bytes` are the block's last ones, at least 8; the pattern ends where they begin.
inline void put_red_zone(void* block, std::size_t block_bytes, std::size_t record_bytes, std::uint64_t asked) {
    auto* const first = static_cast<std::byte*>(block);
    std::byte* const record = first + block_bytes - record_bytes;
    std::fill(first + asked, record, std::byte{0xa5});
    std::memcpy(record, &asked, sizeof asked);
}

/// What was asked for; none when the red zone was written over.
[[nodiscard]] inline std::optional<std::uint64_t> red_zoned_bytes(const void* block, std::size_t block_bytes,
                                                                  std::size_t record_bytes) {
    const auto* const first = static_cast<const std::byte*>(block);
    if (block_bytes < record_bytes) // I7
        return {};
    const std::byte* const record = first + block_bytes - record_bytes;
    std::uint64_t asked = 0;
    std::memcpy(&asked, record, sizeof asked);
    const bool is_whole = asked < block_bytes - record_bytes &&
                          std::all_of(first + asked, record, [](std::byte each) { return each == std::byte{0xa5}; });
    return is_whole ? std::optional(asked) : std::nullopt;
}

/// What the program may use of a block with a red zone in a heap with a file; where the red zone was written over, as much as it can be at most.
[[nodiscard]] inline std::uint64_t bytes_without_red_zone(const void* block, std::size_t block_bytes) {
    constexpr std::size_t k_least = k_red_zone_bytes_min + k_red_zone_record_bytes;
    return red_zoned_bytes(block, block_bytes, k_red_zone_record_bytes)
        .value_or(block_bytes - std::min(block_bytes, k_least));
}

} // namespace remanence::alloc
