#include "alloc/lent_slab.hpp"

#include "unit/alloc/test_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace remanence::alloc {
namespace {

class lent_slabs : public testing::Test {
protected:
    void expect_sound(std::uint64_t allocated_bytes) {
        heap_->flush();
        EXPECT_EQ(heap_->check_invariants(
                      [](std::uint64_t at, std::string_view what) { ADD_FAILURE() << "at " << at << ": " << what; }),
                  0U);
        EXPECT_EQ(heap_->allocated_bytes(), allocated_bytes);
    }
    test_heap heap_;
};

TEST_F(lent_slabs, blocks_of_a_lent_slab_are_blocks_of_the_heap_when_it_is_back) {
    lent_slab lent;
    ASSERT_TRUE(heap_->lend(lent, 3, natural_alignment(3)));
    std::set<void*> blocks;
    for (int i = 0; i != 100; ++i)
        blocks.insert(lent.allocate(3, natural_alignment(3)));
    EXPECT_EQ(blocks.size(), 100U);
    heap_->take_back(lent);
    EXPECT_TRUE(lent.is_none());
    expect_sound(2400);
    for (void* const each : blocks)
        EXPECT_EQ(heap_->block_of(each), (block{each, 24}));
    for (void* const each : blocks)
        heap_->deallocate(each, 24);
    expect_sound(0);
}

TEST_F(lent_slabs, blocks_begin_at_a_multiple_of_a_larger_alignment_when_asked_to) {
    lent_slab lent;
    ASSERT_TRUE(heap_->lend(lent, 5, 2));
    EXPECT_NE(lent.allocate(1, 1), nullptr);
    for (int i = 0; i != 10; ++i)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lent.allocate(5, 2)) % 16, 0U);
    heap_->take_back(lent);
    expect_sound(8 + 400);
}

TEST_F(lent_slabs, what_the_heap_allocates_meanwhile_lies_elsewhere) {
    void* const before = heap_->allocate(24);
    lent_slab lent;
    ASSERT_TRUE(heap_->lend(lent, 3, natural_alignment(3)));
    EXPECT_TRUE(lent.contains(before)) << "the current slab is the one that is lent";
    for (int i = 0; i != 5000; ++i) {
        void* const other = heap_->allocate(24);
        ASSERT_NE(other, nullptr);
        EXPECT_FALSE(lent.contains(other));
    }
    heap_->take_back(lent);
    expect_sound(5001 * 24);
}

TEST_F(lent_slabs, blocks_from_before_are_freed_in_it) {
    void* const before = heap_->allocate(40);
    void* const kept = heap_->allocate(48);
    lent_slab lent;
    ASSERT_TRUE(heap_->lend(lent, 1, natural_alignment(1)));
    EXPECT_TRUE(lent.deallocate(before, 5));
    heap_->take_back(lent);
    expect_sound(48);
    EXPECT_EQ(heap_->block_of(before), std::nullopt);
    EXPECT_NE(heap_->block_of(kept), std::nullopt);
}

TEST_F(lent_slabs, what_is_kept_in_magazines_is_freed_before_its_slab_is_lent) {
    void* const block = heap_->allocate(24);
    heap_->deallocate(block, 24);
    lent_slab lent;
    ASSERT_TRUE(heap_->lend(lent, 3, natural_alignment(3)));
    EXPECT_EQ(lent.allocate(3, natural_alignment(3)), block);
    heap_->take_back(lent);
    expect_sound(24);
}

TEST_F(lent_slabs, what_is_no_block_there_is_refused) {
    lent_slab lent;
    ASSERT_TRUE(heap_->lend(lent, 4, natural_alignment(4)));
    auto* const block = static_cast<std::byte*>(lent.allocate(4, natural_alignment(4)));
    EXPECT_FALSE(lent.deallocate(block, 3));
    EXPECT_FALSE(lent.deallocate(block, 5));
    EXPECT_FALSE(lent.deallocate(block + 8, 3));
    EXPECT_FALSE(lent.deallocate(block + 1, 4));
    EXPECT_TRUE(lent.deallocate(block, 4));
    EXPECT_FALSE(lent.deallocate(block, 4));
    heap_->take_back(lent);
    expect_sound(0);
}

TEST_F(lent_slabs, one_that_is_full_gives_no_more_and_goes_back) {
    lent_slab lent;
    ASSERT_TRUE(heap_->lend(lent, 128, natural_alignment(128)));
    std::uint64_t count = 0;
    while (lent.allocate(128, natural_alignment(128)) != nullptr)
        ++count;
    EXPECT_EQ(count, k_slab_granules / 128);
    heap_->take_back(lent);
    ASSERT_TRUE(heap_->lend(lent, 128, natural_alignment(128)));
    heap_->take_back(lent);
    expect_sound(k_slab_bytes);
}

TEST_F(lent_slabs, those_with_short_holes_stay_and_the_heap_grows_while_these_are_few) {
    std::vector<void*> blocks;
    for (std::size_t bytes = 0; bytes != 4 * MiB; bytes += KiB)
        blocks.push_back(heap_->allocate(KiB));
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        heap_->deallocate(blocks[i], KiB);
    heap_->flush();
    lent_slab lent;
    EXPECT_FALSE(heap_->lend(lent, 3, 1)) << "2 MiB of holes, and 2 MiB allocated";
    void* const large = heap_->allocate(8 * MiB);
    ASSERT_TRUE(heap_->lend(lent, 3, 1));
    EXPECT_FALSE(std::ranges::any_of(blocks, [&](void* each) { return lent.contains(each); }));
    heap_->take_back(lent);
    heap_->deallocate(large, 8 * MiB);
    expect_sound(2 * MiB);
}

TEST_F(lent_slabs, a_heap_without_memory_lends_none) {
    heap_.fail_extension(1);
    while (heap_->allocate(k_page_bytes) != nullptr) {
    }
    while (heap_->allocate(1000) != nullptr) {
    }
    lent_slab lent;
    EXPECT_FALSE(heap_->lend(lent, 125, natural_alignment(125)));
    EXPECT_TRUE(lent.is_none());
}

} // namespace
} // namespace remanence::alloc
