#include "view/diff.hpp"

#include "base/units.hpp"

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
    std::vector<format::change_range> got{{1, 2}}; // of another page: must be left alone
    diff_pages(before.data(), after.data(), got);
    ASSERT_TRUE(same(got[0], {1, 2}));
    got.erase(got.begin());
    const auto wanted = naive(before, after);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end(), same))
        << got.size() << " ranges, not " << wanted.size();
}

TEST(diff, agrees_with_a_naive_model_on_random_pages) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
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

} // namespace
} // namespace remanence::view
