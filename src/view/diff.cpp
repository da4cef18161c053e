#include "view/diff.hpp"

#include "base/units.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace remanence::view {

namespace {

constexpr std::size_t k_unit = sizeof(std::uint64_t);
constexpr std::size_t k_block_units = 64; // one bit each in a 64-bit mask

// Bit i is set when unit i of the block differs. Plain enough for the compiler to vectorise.
std::uint64_t difference_mask(const std::byte* before, const std::byte* after) {
    if (std::memcmp(before, after, k_block_units * k_unit) == 0)
        return 0;
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < k_block_units; ++i) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, before + i * k_unit, k_unit);
        std::memcpy(&b, after + i * k_unit, k_unit);
        mask |= std::uint64_t{a != b} << i;
    }
    return mask;
}

} // namespace

void diff_pages(const std::byte* before, const std::byte* after, std::vector<format::change_range>& ranges) {
    const std::size_t first_range = ranges.size();
    for (std::size_t block = 0; block < k_page_bytes; block += k_block_units * k_unit) {
        std::uint64_t mask = difference_mask(before + block, after + block);
        std::size_t at = 0;
        while (mask != 0) {
            auto skip = static_cast<std::size_t>(std::countr_zero(mask));
            auto run = static_cast<std::size_t>(std::countr_one(mask >> skip));
            std::size_t offset = block + (at + skip) * k_unit;
            if (ranges.size() > first_range && std::size_t{ranges.back().offset} + ranges.back().bytes == offset) {
                ranges.back().bytes = static_cast<std::uint16_t>(ranges.back().bytes + run * k_unit);
            } else {
                ranges.push_back({static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(run * k_unit)});
            }
            at += skip + run;
            mask = skip + run == 64 ? 0 : mask >> (skip + run);
        }
    }
}

} // namespace remanence::view
