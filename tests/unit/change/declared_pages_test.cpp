#include "base/range.hpp"
#include "change/declared_pages.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace remanence::change {
namespace {

TEST(declared_pages, are_all_there_once_and_in_order) {
    std::mt19937_64 random(test::random_seed());
    for (int round = 0; round < 20; ++round) {
        declared_pages pages;
        std::set<std::uint64_t> expected;
        const std::uint64_t span = 1 + random() % 20'000;
        for (std::uint64_t i = random() % 10'000; i > 0; --i) {
            const std::uint64_t offset = random() % (span * k_page_bytes);
            const std::uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 20 * k_page_bytes : 200);
            const bool is_known = !pages.add(offset, bytes);
            for (std::uint64_t page = offset / k_page_bytes; page <= (offset + bytes - 1) / k_page_bytes; ++page) {
                const bool is_new = expected.insert(page).second;
                EXPECT_FALSE(is_new && is_known) << page;
            }
        }
        std::set<std::uint64_t> found;
        std::uint64_t last_end = 0;
        for (const heap_range& range : pages.ranges()) {
            EXPECT_TRUE(found.empty() || range.offset > last_end) << "ranges touch, or are out of order";
            last_end = range.end();
            for (std::uint64_t page = range.offset / k_page_bytes; page < range.end() / k_page_bytes; ++page)
                found.insert(page);
        }
        EXPECT_EQ(found, expected);
    }
}

TEST(declared_pages, keep_words_apart_from_pages) {
    declared_pages all;
    EXPECT_TRUE(all.is_empty());
    EXPECT_TRUE(all.add_words(k_page_bytes + 17, 8)); // words at 16 and 24
    EXPECT_FALSE(all.is_empty());
    EXPECT_FALSE(all.add_words(k_page_bytes + 32, 1));
    EXPECT_TRUE(all.add_words(2 * k_page_bytes - 1, 2));
    EXPECT_EQ(all.words(), (std::vector<heap_range>{{k_page_bytes + 16, 24}, {2 * k_page_bytes - 8, 16}}));
    EXPECT_TRUE(all.ranges().empty());
    EXPECT_FALSE(all.add(k_page_bytes, 1)); // is known by its words, and is a page from now on
    EXPECT_EQ(all.ranges(), (std::vector<heap_range>{{k_page_bytes, k_page_bytes}}));
    EXPECT_FALSE(all.add_words(k_page_bytes + 800, 8));
    EXPECT_EQ(all.words().size(), 2U);
    all.clear();
    EXPECT_TRUE(all.is_empty());
}

TEST(declared_pages, declared_over_and_over_take_no_more_room) {
    declared_pages pages;
    std::size_t notes = 0;
    for (int i = 0; i < 100'000; ++i) {
        for (const unsigned page : {7U, 8U, 7U + 64U}) // two of them share a place among the recent ones
            notes += pages.add(page * k_page_bytes, 8) ? 1U : 0U;
    }
    EXPECT_GT(notes, 100'000U);
    EXPECT_EQ(pages.ranges().size(), 2U);
    EXPECT_LT(pages.ranges().capacity(), 5000U);
    for (std::uint64_t i = 0; i < 100'000; ++i)
        pages.add_words(100 * k_page_bytes + i % 16, 8);
    EXPECT_EQ(pages.words().size(), 1U);
    EXPECT_LT(pages.words().capacity(), 5000U);
}

} // namespace
} // namespace remanence::change
