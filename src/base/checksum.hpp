// Checksums of everything in the file. Algorithm: XXH3 with 64 bits (xxHash 0.8, Yann Collet), its specification
// being fixed since 0.8.0, so the value is part of the file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace remanence {

/// 64-bit checksum; `seed` separates uses, so that one structure is never taken for another.
std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// Checksum of one 4 KiB page: 32 bits, never 0, since 0 stands for a page that was never written and reads as zeros.
std::uint32_t page_checksum(std::span<const std::byte> page);

/// The same, but 0 of a page that holds zeros: for who writes none of those, or knows a hole by it.
std::uint32_t page_checksum_or_zero(std::span<const std::byte> page);

/// Whether all of its bytes are zero. `page`: 4 KiB at most.
bool is_all_zeros(std::span<const std::byte> page);

} // namespace remanence
