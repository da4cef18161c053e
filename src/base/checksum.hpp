// Checksums of everything in the file: 64-bit XXH3 (xxHash 0.8, Yann Collet). Its specification has been fixed since
// version 0.8.0, so its values can be part of the file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace remanence {

/// Returns a 64-bit checksum. Different uses have different seeds, so that one structure is never mistaken for another.
std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// Returns the checksum of a 4 KiB page: 32 bits, and never 0, which means that the page was never written and reads as
/// zeros.
std::uint32_t page_checksum(std::span<const std::byte> page);

/// Returns 0 for a page of zeros, else page_checksum(). For callers that do not write pages of zeros.
std::uint32_t page_checksum_or_zero(std::span<const std::byte> page);

/// True if all bytes are zero. Precondition: `page` is at most 4 KiB.
bool is_all_zeros(std::span<const std::byte> page);

} // namespace remanence
