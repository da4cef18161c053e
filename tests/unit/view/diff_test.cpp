#include "view/diff.hpp"

#include "base/units.hpp"
#include "log/record.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace remanence::view {

static bool same(const format::change_range& a, const format::change_range& b) {
    return a.offset == b.offset && a.bytes == b.bytes;
}

namespace {

std::vector<format::change_range> naive(const std::vector<std::byte>& before, const std::vector<std::byte>& after) {
    std::vector<format::change_range> ranges;
    for (std::size_t at = 0; at < k_page_bytes; at += 8) {
        if (std::memcmp(before.data() + at, after.data() + at, 8) == 0)
            continue;
        if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == static_cast<int>(at)) {
            ranges.back().bytes = static_cast<std::uint16_t>(ranges.back().bytes + 8);
        } else {
            ranges.push_back({static_cast<std::uint16_t>(at), 8});
        }
    }
    return ranges;
}

void expect_naive(const std::vector<std::byte>& before, const std::vector<std::byte>& after) {
    const auto wanted = naive(before, after);
    // Of another page, and ending where this one's first begins: must be left alone.
    const format::change_range other{0, wanted.empty() ? std::uint16_t{8} : wanted.front().offset};
    std::vector<format::change_range> got{other};
    diff_pages(before.data(), after.data(), got);
    ASSERT_TRUE(same(got[0], other));
    got.erase(got.begin());
    ASSERT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end(), same))
        << got.size() << " ranges, not " << wanted.size();
}

TEST(diff, agrees_with_a_naive_model_on_random_pages) {
    std::mt19937_64 random(test::random_seed());
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::byte> before(k_page_bytes);
        for (auto& b : before)
            b = static_cast<std::byte>(random() % 3);
        auto after = before;
        for (std::uint64_t i = random() % 12; i > 0; --i) {
            const std::size_t at = random() % k_page_bytes;
            const std::size_t length =
                std::min<std::size_t>(random() % (round % 3 == 0 ? 2000 : 20), k_page_bytes - at);
            for (std::size_t b = at; b < at + length; ++b)
                after[b] = static_cast<std::byte>(random() % 3);
        }
        ASSERT_NO_FATAL_FAILURE(expect_naive(before, after));
    }
}

TEST(diff, of_the_extremes) {
    std::vector<std::byte> zeros(k_page_bytes);
    std::vector<std::byte> ones(k_page_bytes, std::byte{1});
    expect_naive(zeros, zeros);
    expect_naive(zeros, ones); // one range of 4096 bytes
    for (std::size_t unit = 0; unit < k_page_bytes / 8; ++unit) {
        auto one = zeros;
        one[unit * 8 + unit % 8] = std::byte{1};
        expect_naive(zeros, one);
        expect_naive(one, zeros);
    }
    auto every_second = zeros;
    for (std::size_t at = 0; at < k_page_bytes; at += 16)
        every_second[at] = std::byte{1};
    expect_naive(zeros, every_second);
}

/// Bytes that a record has behind its header when these units of 8 bytes change, each in the page it is said of.
std::uint64_t payload_bytes(const std::vector<std::vector<std::size_t>>& units_of_pages) {
    const std::vector<std::byte> before(k_page_bytes);
    log::record_builder record;
    for (std::size_t i = 0; i < units_of_pages.size(); ++i) {
        auto after = before;
        for (const std::size_t unit : units_of_pages[i])
            after[unit * 8 + 3] = std::byte{1};
        std::vector<format::change_range> ranges;
        diff_pages(before.data(), after.data(), ranges);
        record.add_page(1'000'000 + i, 1, ranges, after.data());
    }
    format::record_header header{};
    EXPECT_TRUE(log::looks_like_record(record.finish({}, 0), header));
    return header.payload_bytes;
}

TEST(diff, one_changed_word_costs_at_most_24_bytes_of_log) {
    for (std::size_t unit = 0; unit < k_page_bytes / 8; ++unit)
        ASSERT_EQ(payload_bytes({{unit}}), 24U) << "the only one in its page: page 12, range 4, word 8; unit " << unit;
    EXPECT_EQ(payload_bytes({{7}, {7}, {0}}), 3 * 24U) << "each in a page of its own";
    EXPECT_EQ(payload_bytes({{7, 100}}), 24U + 12U) << "a second one elsewhere in the page";
    EXPECT_EQ(payload_bytes({{7, 9}}), 24U + 12U) << "with one unchanged word between";
    EXPECT_EQ(payload_bytes({{63, 64}}), 24U + 8U) << "the next one";
}

} // namespace
} // namespace remanence::view
