// Red zones. A pattern follows the bytes that the program asked for; it shows writes beyond them. Then comes a record
// that begins with the number of bytes that the program asked for. Depends on the standard library only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace remanence::alloc {

// For heaps with a file: this is a part of the file format. (Records of volatile heaps are longer.)
inline constexpr std::size_t k_red_zone_bytes_min = 16;
inline constexpr std::size_t k_red_zone_record_bytes = sizeof(std::uint64_t);

/// `record_bytes`: the size of the record at the end of the block, at least 8. The pattern ends where the record
/// begins.
inline void put_red_zone(void* block, std::size_t block_bytes, std::size_t record_bytes, std::uint64_t asked) {
    auto* const first = static_cast<std::byte*>(block);
    std::byte* const record = first + block_bytes - record_bytes;
    std::fill(first + asked, record, std::byte{0xa5});
    std::memcpy(record, &asked, sizeof asked);
}

/// Returns the number of bytes that the program asked for; nothing if the red zone was overwritten.
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

/// Returns how many bytes of a block with a red zone the program may use, in a heap with a file. If the red zone was
/// overwritten, returns the largest possible number.
[[nodiscard]] inline std::uint64_t bytes_without_red_zone(const void* block, std::size_t block_bytes) {
    constexpr std::size_t k_least = k_red_zone_bytes_min + k_red_zone_record_bytes;
    return red_zoned_bytes(block, block_bytes, k_red_zone_record_bytes)
        .value_or(block_bytes - std::min(block_bytes, k_least));
}

} // namespace remanence::alloc
