#include "base/range.hpp"
#include "base/range_list.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace remanence {
namespace {

using ranges = std::vector<heap_range>;

TEST(range_list, without_some_leaves_the_others) {
    const ranges all{{0, 4096}, {8192, 40960}, {61440, 4096}};
    EXPECT_EQ(without(all, {}), all);
    EXPECT_EQ(without({}, all), ranges{});
    EXPECT_EQ(without(all, all), ranges{});
    EXPECT_EQ(without(all, {{4096, 8192}, {16384, 4096}, {45056, 20480}}),
              (ranges{{0, 4096}, {12288, 4096}, {20480, 24576}}));
}

TEST(range_list, what_is_common_to_two_lists_is_in_both) {
    const ranges all{{0, 4096}, {8192, 40960}, {61440, 4096}};
    EXPECT_EQ(common_to(all, {}), ranges{});
    EXPECT_EQ(common_to({}, all), ranges{});
    EXPECT_EQ(common_to(all, all), all);
    EXPECT_EQ(common_to(all, {{4096, 8192}, {16384, 4096}, {45056, 20480}}),
              (ranges{{8192, 4096}, {16384, 4096}, {45056, 4096}, {61440, 4096}}));
}

TEST(range_list, split_ranges_lie_in_one_chunk_each) {
    const ranges split = split_at_chunks(ranges{{4096, 8192}, {65536, 196608}}, 65536);
    EXPECT_EQ(split, (ranges{{4096, 8192}, {65536, 65536}, {131072, 65536}, {196608, 65536}}));
    EXPECT_EQ(in_same_chunk(split, &split[1], 65536).size(), 1U);
    const ranges more{{0, 4096}, {8192, 4096}, {65536, 4096}};
    EXPECT_EQ(in_same_chunk(more, more.data(), 65536).size(), 2U);
}

TEST(range_list, merged_ranges_are_sorted_and_do_not_touch) {
    ranges all{{8192, 4096}, {0, 4096}, {4096, 4096}, {20480, 8192}, {24576, 8192}};
    sort_and_merge(all);
    EXPECT_EQ(all, (ranges{{0, 12288}, {20480, 12288}}));
}

} // namespace
} // namespace remanence
