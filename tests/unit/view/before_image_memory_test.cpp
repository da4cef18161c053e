#include "view/before_image_memory.hpp"

#include "base/units.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace remanence::view {
namespace {

std::uint64_t pages_with_memory(const before_image_memory::block& block) {
    std::vector<unsigned char> pages(static_cast<std::size_t>(block.pages));
    EXPECT_EQ(::mincore(block.bytes.get(), block.pages * k_page_bytes, pages.data()), 0);
    return static_cast<std::uint64_t>(std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
}

TEST(before_image_memory, gets_its_pages_some_at_a_time_as_they_are_used) {
    before_image_memory memory;
    before_image_memory::block block = memory.take(1, 0, false);
    ASSERT_EQ(block.pages, before_image_memory::k_pages_max);
    const std::uint64_t before = pages_with_memory(block);
    if (before == block.pages)
        GTEST_SKIP() << "this kernel gives out huge pages unasked";
    before_image_memory::populate(block, 1);
    const std::uint64_t some = pages_with_memory(block);
    EXPECT_GT(some, before + 1);
    EXPECT_LT(some, block.pages);
    before_image_memory::populate(block, block.populated);
    EXPECT_EQ(pages_with_memory(block), some);
    before_image_memory::populate(block, block.populated + 1);
    EXPECT_GT(pages_with_memory(block), some);
    before_image_memory::populate(block, block.pages);
    EXPECT_EQ(pages_with_memory(block), block.pages);
}

TEST(before_image_memory, that_was_used_before_is_not_populated_again) {
    before_image_memory memory;
    memory.give_back(memory.take(1, 0, false));
    const before_image_memory::block again = memory.take(1, 0, false);
    EXPECT_EQ(again.populated, again.pages);
}

} // namespace
} // namespace remanence::view
