#include "log/record.hpp"

#include "base/checksum.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace remanence::log {
namespace {

constexpr std::uint64_t k_pages_of_chunk = 16;
constexpr std::uint64_t k_image_bytes = 64 * k_pages_of_chunk * k_page_bytes;

record_identity identity() { return {{1, 2, 3}, 4, 5, 6, 4}; }

struct parts {
    std::vector<chunk_range> given_back;
    std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>> fresh;
    std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> pages; // the page after the change
    friend bool operator==(const parts&, const parts&) = default;
};

/// A random record, and what reading it back must give when every page was `before`.
parts build(record_builder& builder, std::mt19937_64& random, const std::vector<std::byte>& before) {
    parts wanted;
    for (std::uint64_t chunk = random() % 9; random() % 2 == 0; chunk += 1 + random() % 9) {
        wanted.given_back.push_back({chunk, 1 + random() % 5});
        chunk = wanted.given_back.back().end();
    }
    if (!wanted.given_back.empty())
        builder.give_back(wanted.given_back);
    for (std::uint64_t i = 0; i < random() % 3; ++i) {
        std::vector<std::uint32_t> sums(k_pages_of_chunk);
        for (auto& sum : sums)
            sum = static_cast<std::uint32_t>(random());
        builder.add_chunk(i * 7, false, sums);
        wanted.fresh.emplace_back(i * 7, sums);
    }
    for (std::uint64_t i = 0; i < random() % 5; ++i) {
        auto page = before;
        std::vector<format::change_range> ranges;
        for (std::uint64_t at = random() % 64 * 8; at < k_page_bytes; at += (random() % 64 + 1) * 8) {
            auto bytes = std::min<std::uint64_t>((random() % 20 + 1) * 8, k_page_bytes - at);
            ranges.push_back({static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(bytes)});
            for (std::uint64_t b = at; b < at + bytes; ++b)
                page[b] = static_cast<std::byte>(random());
            at += bytes;
        }
        builder.add_page(100 + i, page_checksum(page), ranges, page.data());
        wanted.pages.emplace_back(100 + i, page);
    }
    return wanted;
}

std::optional<parts> read_back(std::span<const std::byte> record, const std::vector<std::byte>& before) {
    parts got;
    const bool sound = for_each_part(
        record, k_pages_of_chunk,
        [&](placed_chunk placed) { got.fresh.emplace_back(placed.chunk, std::move(placed.checksums)); },
        [&](const page_entry& entry) {
            auto page = before;
            apply_ranges(entry, page.data());
            EXPECT_EQ(page_checksum(page), entry.checksum);
            got.pages.emplace_back(entry.page, page);
        },
        [&](chunk_range given_back) { got.given_back.push_back(given_back); });
    return sound ? std::optional(got) : std::nullopt;
}

std::span<const std::byte> without_padding(std::span<const std::byte> record) {
    format::record_header header{};
    EXPECT_TRUE(looks_like_record(record, header));
    return record.first(sizeof header + header.payload_bytes);
}

TEST(record, reads_back_as_it_was_built) {
    std::mt19937_64 random(test::random_seed());
    record_builder builder;
    for (int round = 0; round < 300; ++round) {
        std::vector<std::byte> before(k_page_bytes, static_cast<std::byte>(round));
        builder.clear();
        EXPECT_TRUE(builder.empty());
        auto wanted = build(builder, random, before);
        const auto bytes = builder.record_bytes();
        auto record = builder.finish(identity(), k_image_bytes);
        ASSERT_EQ(record.size(), bytes);
        ASSERT_EQ(record.size() % k_sector_bytes, 0U);
        ASSERT_TRUE(record_is_intact(without_padding(record)));
        auto got = read_back(without_padding(record), before);
        ASSERT_TRUE(got);
        ASSERT_EQ(*got, wanted);
    }
}

TEST(record, every_flipped_bit_and_every_other_length_is_noticed) {
    std::mt19937_64 random(test::seed_or(7));
    std::vector<std::byte> before(k_page_bytes);
    record_builder builder;
    parts wanted;
    while (wanted.pages.empty() || wanted.fresh.empty()) {
        builder.clear();
        wanted = build(builder, random, before);
    }
    auto record = builder.finish(identity(), k_image_bytes);
    auto whole = without_padding(record);
    std::vector<std::byte> bytes(whole.begin(), whole.end());
    for (std::size_t length = 0; length < bytes.size(); length += length < 200 ? 1 : 37) {
        EXPECT_FALSE(record_is_intact(std::span(bytes).first(length))) << length;
    }
    for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += bit < 8 * sizeof(format::record_header) ? 1 : 13) {
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        EXPECT_FALSE(record_is_intact(bytes)) << bit;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_TRUE(record_is_intact(bytes));
}

// I7: with a checksum that fits, counts and places may still be anything. Run under the sanitizers.
TEST(record, hostile_contents_stay_within_bounds) {
    std::mt19937_64 random(test::random_seed());
    std::vector<std::byte> before(k_page_bytes);
    record_builder builder;
    for (int round = 0; round < 3000; ++round) {
        builder.clear();
        build(builder, random, before);
        auto whole = without_padding(builder.finish(identity(), k_image_bytes));
        std::vector<std::byte> bytes(whole.begin(), whole.end());
        for (std::uint64_t i = 0; i < random() % 4 + 1; ++i) {
            std::size_t at = 56 + random() % (bytes.size() - 56);
            bytes[at] = random() % 2 == 0 ? static_cast<std::byte>(random()) : std::byte{0xff};
        }
        if (random() % 3 == 0)
            bytes.resize(sizeof(format::record_header) + random() % (bytes.size() - sizeof(format::record_header) + 1));
        for_each_part(
            bytes, k_pages_of_chunk,
            [&](const placed_chunk& placed) {
                format::record_header header{};
                std::memcpy(&header, bytes.data(), sizeof header);
                EXPECT_LT(placed.chunk, header.image_bytes / k_page_bytes / k_pages_of_chunk);
                EXPECT_EQ(placed.checksums.size(), k_pages_of_chunk);
            },
            [&](const page_entry& entry) {
                std::vector<std::byte> page(k_page_bytes);
                apply_ranges(entry, page.data());
            },
            [&](chunk_range given_back) {
                EXPECT_GT(given_back.count, 0U);
                EXPECT_GT(given_back.end(), given_back.first);
            });
    }
}

TEST(record, chunks_given_back_that_are_none_or_not_sorted_or_not_apart_are_not_taken) {
    const auto is_taken = [](std::span<const chunk_range> runs, std::uint64_t count) {
        record_builder builder;
        builder.give_back(runs);
        EXPECT_FALSE(builder.empty());
        EXPECT_EQ(builder.record_bytes(), record_builder::bytes_to_give_back(runs.size()));
        const auto bytes = without_padding(builder.finish(identity(), k_image_bytes));
        std::vector<std::byte> record(bytes.begin(), bytes.end());
        std::memcpy(record.data() + sizeof(format::record_header), &count, sizeof count);
        return for_each_part(
            record, k_pages_of_chunk, [](const placed_chunk&) { FAIL(); }, [](const page_entry&) { FAIL(); });
    };
    const std::vector<chunk_range> sound{{3, 4}, {8, 1}};
    EXPECT_TRUE(is_taken(sound, 2));
    for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, ~std::uint64_t{0}})
        EXPECT_FALSE(is_taken(sound, wrong)) << wrong;
    const std::vector<std::vector<chunk_range>> wrong{
        {{3, 0}, {8, 1}},
        {{3, 5}, {8, 1}},
        {{8, 1}, {3, 4}},
        {{3, 4}, {8, ~std::uint64_t{0}}},
        {{3, ~std::uint64_t{0} - 2}, {8, 1}},
    };
    for (const auto& each : wrong)
        EXPECT_FALSE(is_taken(each, 2)) << each[0].count;
}

TEST(record, what_is_none_or_has_unknown_features_is_not_taken_apart) {
    record_builder builder;
    builder.add_chunk(1, false, std::vector<std::uint32_t>(k_pages_of_chunk));
    const auto bytes = without_padding(builder.finish(identity(), k_image_bytes));
    std::vector<std::byte> record(bytes.begin(), bytes.end());
    const auto parts_of = [&] {
        std::size_t parts = 0;
        const bool sound = for_each_part(
            record, k_pages_of_chunk, [&](const placed_chunk&) { ++parts; }, [&](const page_entry&) { ++parts; });
        return std::pair(sound, parts);
    };
    EXPECT_EQ(parts_of(), std::pair(true, std::size_t{1}));
    std::byte& features = record[offsetof(format::record_header, features)];
    EXPECT_EQ(features, std::byte{format::k_feature_contents_in_log}) << "the chunk has none of its own";
    features = std::byte{4};
    EXPECT_EQ(parts_of(), std::pair(false, std::size_t{0}));
    features = std::byte{1};
    EXPECT_EQ(parts_of(), std::pair(true, std::size_t{1}));
    record[0] ^= std::byte{1};
    EXPECT_EQ(parts_of(), std::pair(false, std::size_t{0}));
}

} // namespace
} // namespace remanence::log
