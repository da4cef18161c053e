#include "alloc/bits.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace remanence::alloc {
namespace {

using bit_words = std::array<std::uint64_t, 5>;

bit_words some_words(std::mt19937_64& random) {
    bit_words words{};
    for (std::uint64_t& word : words) {
        word = random();
        word &= random();
    }
    return words;
}

TEST(windows_of_bits, show_those_from_a_place_on_and_before_it) {
    std::mt19937_64 random(test::seed_or(1));
    const bit_words words = some_words(random);
    for (std::uint32_t at = 64; at <= 256; ++at) {
        const std::uint64_t behind = window_from(words.data(), at);
        const std::uint64_t before = window_before(words.data(), at);
        for (std::uint32_t i = 0; i != k_window_bits; ++i) {
            ASSERT_EQ(behind >> i & 1, is_set(words.data(), at + i) ? 1U : 0U) << at << ", " << i;
        }
        for (std::uint32_t i = 0; i != k_window_bits - 1; ++i)
            ASSERT_EQ(before << i >> 63, is_set(words.data(), at - 1 - i) ? 1U : 0U) << at << ", " << i;
    }
}

TEST(windows_of_bits, are_written_as_runs_are) {
    std::mt19937_64 random(test::seed_or(2));
    for (std::uint32_t begin = 0; begin <= 256; ++begin) {
        for (std::uint32_t count = 1; count != k_window_bits; ++count) {
            const bit_words before = some_words(random);
            const std::uint64_t run = (std::uint64_t{1} << count) - 1;
            bit_words expected = before;
            bit_words got = before;
            set_bits(expected.data(), begin, begin + count);
            set_in_window(got.data(), begin, run);
            ASSERT_EQ(got, expected) << begin << ", " << count;
            expected = got = before;
            clear_bits(expected.data(), begin, begin + count);
            clear_in_window(got.data(), begin, run);
            ASSERT_EQ(got, expected) << begin << ", " << count;
        }
    }
}

} // namespace
} // namespace remanence::alloc
