#include "base/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace remanence {

std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint32_t page_checksum(std::span<const std::byte> page) {
    auto low = static_cast<std::uint32_t>(XXH3_64bits(page.data(), page.size()));
    return low != 0 ? low : 1;
}

} // namespace remanence
