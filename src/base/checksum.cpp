#include "base/checksum.hpp"

#include "base/assert.hpp"
#include "base/units.hpp"

#include <cstring>

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

std::uint32_t page_checksum_or_zero(std::span<const std::byte> page) {
    return is_all_zeros(page) ? 0 : page_checksum(page);
}

bool is_all_zeros(std::span<const std::byte> page) {
    static constexpr std::byte k_zeros[k_page_bytes] = {};
    REM_ASSERT(page.size() <= sizeof k_zeros);
    return std::memcmp(page.data(), k_zeros, page.size()) == 0;
}

} // namespace remanence
