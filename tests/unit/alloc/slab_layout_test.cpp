#include "alloc/bits.hpp"
#include "alloc/slabs.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace remanence::alloc {
namespace {

constexpr std::uint32_t k_words = k_slab_granules / k_word_bits;

TEST(slab_layout, bins_part_all_lengths_of_holes_in_order) {
    for (std::uint32_t granules = 1; granules <= k_slab_granules; ++granules) {
        const std::uint32_t bin = bin_of(granules);
        ASSERT_LT(bin, k_bin_count) << granules;
        ASSERT_LE(least_of_bin(bin), granules);
        if (bin + 1 < k_bin_count) {
            ASSERT_GT(least_of_bin(bin + 1), granules);
        }
    }
    for (std::uint32_t bin = 0; bin < k_bin_count; ++bin)
        EXPECT_EQ(bin_of(least_of_bin(bin)), bin);
}

TEST(slab_layout, a_bin_spans_at_most_a_quarter) {
    for (std::uint32_t bin = k_exact_bins; bin + 1 < k_bin_count; ++bin)
        EXPECT_LE((least_of_bin(bin + 1) - least_of_bin(bin)) * 4, least_of_bin(bin) + 3) << bin;
}

TEST(slab_layout, blocks_that_divide_a_cache_line_never_straddle_one) {
    for (const std::size_t bytes : {1U, 8U, 16U, 17U, 32U, 64U, 192U}) {
        const std::uint32_t granules = granules_of(bytes);
        EXPECT_EQ(granules % natural_alignment(granules), 0U);
    }
    EXPECT_EQ(natural_alignment(granules_of(24)) * k_granule_bytes, 8U);
    EXPECT_EQ(natural_alignment(granules_of(32)) * k_granule_bytes, 32U);
    EXPECT_EQ(natural_alignment(granules_of(64)) * k_granule_bytes, 64U);
    EXPECT_EQ(natural_alignment(granules_of(192)) * k_granule_bytes, 64U);
    EXPECT_EQ(natural_alignment(granules_of(48)) * k_granule_bytes, 16U);
}

// Bit by bit, for comparison.
class plain_bits {
public:
    std::array<bool, k_slab_granules> bits{};
    [[nodiscard]] std::uint32_t find(bool value, std::uint32_t begin, std::uint32_t end) const {
        while (begin < end && bits[begin] != value)
            ++begin;
        return begin;
    }
    [[nodiscard]] std::uint32_t behind_last_set(std::uint32_t begin, std::uint32_t end) const {
        while (end > begin && !bits[end - 1])
            --end;
        return end;
    }
    [[nodiscard]] std::uint32_t longest_hole() const {
        std::uint32_t longest = 0;
        for (std::uint32_t i = 0, length = 0; i < k_slab_granules; ++i) {
            length = bits[i] ? 0 : length + 1;
            longest = std::max(longest, length);
        }
        return longest;
    }
};

TEST(bits, agree_with_those_done_one_by_one) {
    std::mt19937_64 random(test::random_seed());
    const auto below = [&](std::uint32_t end) { return std::uniform_int_distribution<std::uint32_t>(0, end)(random); };
    plain_bits expected;
    std::vector<std::uint64_t> words(k_words);
    for (int step = 0; step < 20'000; ++step) {
        const std::uint32_t begin = below(k_slab_granules);
        const std::uint32_t end = std::min(begin + below(step % 2 == 0 ? 20 : 300), k_slab_granules);
        const bool value = below(1) == 0;
        if (value)
            set_bits(words.data(), begin, end);
        else
            clear_bits(words.data(), begin, end);
        std::fill(expected.bits.begin() + begin, expected.bits.begin() + end, value);
        const std::uint32_t from = below(k_slab_granules);
        const std::uint32_t to = from + below(k_slab_granules - from);
        ASSERT_EQ(find_set(words.data(), from, to), expected.find(true, from, to));
        ASSERT_EQ(find_clear(words.data(), from, to), expected.find(false, from, to));
        ASSERT_EQ(behind_last_set(words.data(), from, to), expected.behind_last_set(from, to));
        if (from < k_slab_granules) {
            ASSERT_EQ(is_set(words.data(), from), expected.bits[from]);
        }
        const auto free_count =
            static_cast<std::uint32_t>(std::count(expected.bits.begin(), expected.bits.end(), false));
        const hole longest = longest_hole(words.data(), free_count);
        if (expected.longest_hole() < k_small_granules_max) {
            ASSERT_EQ(longest.length(), expected.longest_hole());
        } else {
            ASSERT_GE(longest.length(), k_small_granules_max);
        }
        ASSERT_EQ(expected.find(true, longest.begin, longest.end), longest.end);
    }
}

TEST(slabs, a_hole_is_found_where_it_fits_aligned) {
    std::vector<std::uint64_t> used(k_words, ~std::uint64_t{0});
    EXPECT_EQ(find_hole(used.data(), 0, 1, 1).length(), 0U);
    clear_bits(used.data(), 62, 67); // over a word's edge
    clear_bits(used.data(), 4090, 4096);
    EXPECT_EQ(find_hole(used.data(), 0, 5, 1).begin, 62U);
    EXPECT_EQ(find_hole(used.data(), 0, 5, 1).end, 67U);
    EXPECT_EQ(find_hole(used.data(), 0, 3, 4).begin, 64U) << "aligned";
    EXPECT_EQ(find_hole(used.data(), 0, 4, 4).begin, 4092U) << "it does not fit aligned into the first";
    EXPECT_EQ(find_hole(used.data(), 0, 6, 1).begin, 4090U);
    EXPECT_EQ(find_hole(used.data(), 67, 1, 1).begin, 4090U);
    EXPECT_EQ(find_hole(used.data(), 0, 7, 1).length(), 0U);
    EXPECT_EQ(find_hole(used.data(), k_slab_granules, 1, 1).length(), 0U);
}

} // namespace
} // namespace remanence::alloc
