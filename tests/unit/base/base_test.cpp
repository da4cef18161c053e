// The fixed points of the base layer: what is part of the file format must never change.

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/page_aligned.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

namespace remanence {
namespace {

TEST(checksum, values_are_part_of_the_format) {
    // XXH3 of the specification (seed 0, empty input), so that files of one release are those of another.
    EXPECT_EQ(checksum64({}), 0x2d06800538d394c2U);
    const std::string_view text = "remanence";
    EXPECT_NE(checksum64(std::as_bytes(std::span(text))), checksum64(std::as_bytes(std::span(text)), 1));
}

TEST(checksum, of_a_page_is_never_zero_and_changes_with_every_bit) {
    std::array<std::byte, k_page_bytes> page{};
    std::set<std::uint32_t> seen{page_checksum(page)};
    EXPECT_EQ(seen.count(0), 0U);
    for (std::size_t bit = 0; bit < 8 * page.size(); bit += 61) {
        page[bit / 8] ^= std::byte{1} << (bit % 8);
        EXPECT_TRUE(seen.insert(page_checksum(page)).second) << bit;
        page[bit / 8] ^= std::byte{1} << (bit % 8);
    }
}

TEST(units, alignment_and_division) {
    EXPECT_EQ(align_up(0, 4096), 0U);
    EXPECT_EQ(align_up(1, 4096), 4096U);
    EXPECT_EQ(align_up(4096, 4096), 4096U);
    EXPECT_EQ(align_down(8191, 4096), 4096U);
    EXPECT_EQ(divide_up(0, 3), 0U);
    EXPECT_EQ(divide_up(4, 3), 2U);
    EXPECT_TRUE(is_power_of_two(64) && !is_power_of_two(0) && !is_power_of_two(96));
}

TEST(result, carries_a_value_or_all_of_the_reason) {
    result<int> value = 5;
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, 5);
    auto outer = []() -> result<std::string> {
        REM_TRY([]() -> result<void> { return fail(errc::corrupt, "why", "path", 5, 77); }());
        return std::string("never");
    }();
    ASSERT_FALSE(outer);
    EXPECT_EQ(outer.why().code, errc::corrupt);
    EXPECT_EQ(outer.why().message, "why");
    EXPECT_EQ(outer.why().path, "path");
    EXPECT_EQ(outer.why().os_error, 5);
    EXPECT_EQ(outer.why().offset, 77U);
}

TEST(assertions, checks_are_always_on_and_say_that_the_file_is_safe) {
    EXPECT_DEATH(REM_CHECK(1 + 1 == 3), "internal error: 1 \\+ 1 == 3 .* The heap file is as of its last commit");
}

TEST(page_aligned_bytes, are_those_of_a_vector_and_begin_at_a_page) {
    page_aligned_bytes bytes;
    std::vector<std::byte> model;
    for (std::size_t i = 1; i < 200; ++i) {
        const std::vector<std::byte> more(i * 7 % 61, static_cast<std::byte>(i));
        bytes.append(more);
        model.insert(model.end(), more.begin(), more.end());
        if (i % 10 == 0) { // cut off, then zeros
            bytes.resize(bytes.size() - i);
            model.resize(model.size() - i);
            bytes.resize(bytes.size() + 2 * i);
            model.resize(model.size() + 2 * i);
        }
        ASSERT_TRUE(std::ranges::equal(bytes, model)) << i;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % k_page_bytes, 0U);
        ASSERT_GE(bytes.capacity(), bytes.size());
    }
    const page_aligned_bytes copy(bytes);
    const page_aligned_bytes taken(std::move(bytes));
    EXPECT_TRUE(std::ranges::equal(copy, model));
    EXPECT_TRUE(std::ranges::equal(taken, model));
    bytes.append(copy); // NOLINT(bugprone-use-after-move): empty then
    EXPECT_TRUE(std::ranges::equal(bytes, model));
}

} // namespace
} // namespace remanence
