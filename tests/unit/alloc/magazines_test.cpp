// Blocks that are kept for the next request of their size: M1 to M3, as the allocator's callers see them.

#include "alloc/magazines.hpp"

#include "test_heap.hpp"

#include <cstring>
#include <set>

namespace remanence::alloc {
namespace {

constexpr std::size_t k_bytes = 112;
constexpr std::size_t k_most = magazines::k_capacity;

class kept_blocks : public testing::Test {
protected:
    std::vector<void*> allocate(std::size_t count, std::size_t bytes = k_bytes) {
        std::vector<void*> got(count);
        for (void*& at : got)
            at = heap_->allocate(bytes);
        return got;
    }
    void deallocate(const std::vector<void*>& blocks, std::size_t bytes = k_bytes) {
        for (void* at : blocks)
            heap_->deallocate(at, bytes);
        heap_->free_returned();
    }
    [[nodiscard]] std::uint32_t pages_in_use() const {
        std::uint32_t sum = 0;
        for (const std::uint32_t pages : heap_.state().used_pages)
            sum += pages;
        return sum;
    }

    test_heap heap_;
};

TEST_F(kept_blocks, are_used_again_the_last_first_and_nothing_but_they_is_written) {
    const auto blocks = allocate(k_most);
    const auto before = heap_.snapshot();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
    heap_->set_listener([&](std::uint64_t offset, std::uint64_t bytes) { told.emplace_back(offset, bytes); });
    deallocate(blocks);
    EXPECT_TRUE(told.empty());
    for (std::size_t i = k_most; i-- > 0;) {
        EXPECT_EQ(heap_->allocate(k_bytes), blocks[i]);
        ASSERT_EQ(told.size(), 1U);
        EXPECT_EQ(told[0], std::pair(heap_.offset_of(blocks[i]), std::uint64_t{k_bytes}));
        told.clear();
    }
    EXPECT_EQ(heap_.snapshot(), before);
}

TEST_F(kept_blocks, are_no_blocks_for_who_asks) {
    const auto blocks = allocate(5);
    const std::uint64_t held = heap_->allocated_bytes();
    const occupancy full = heap_->survey();
    deallocate({blocks[1], blocks[3]});
    EXPECT_EQ(heap_->allocated_bytes(), held - 2 * k_bytes);
    EXPECT_EQ(heap_->block_of(blocks[1]), std::nullopt);
    EXPECT_EQ(heap_->block_of(static_cast<std::byte*>(blocks[3]) + 50), std::nullopt);
    EXPECT_NE(heap_->block_of(blocks[2]), std::nullopt);
    std::vector<void*> found;
    heap_->for_each_block([&](block each) { found.push_back(each.start); });
    EXPECT_EQ(found, (std::vector<void*>{blocks[0], blocks[2], blocks[4]}));
    const occupancy now = heap_->survey();
    EXPECT_EQ(now.blocks, 3U);
    EXPECT_EQ(now.allocated_bytes, heap_->allocated_bytes());
    EXPECT_EQ(now.taken_bytes(), full.taken_bytes());
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(kept_blocks, are_free_in_the_memory_once_flushed) {
    std::vector<std::vector<void*>> of_size;
    for (std::size_t bytes = 1; bytes <= 600; bytes += 7)
        of_size.push_back(allocate(40, bytes));
    for (std::size_t i = 0; i < of_size.size(); ++i)
        deallocate(of_size[i], 1 + 7 * i);
    EXPECT_EQ(heap_->allocated_bytes(), 0U);
    EXPECT_NE(heap_.state().allocated_bytes, 0U);
    heap_->flush();
    EXPECT_EQ(heap_.state().allocated_bytes, 0U);
    EXPECT_TRUE(is_sound(*heap_));
    const auto flushed = heap_.snapshot();
    heap_->flush();
    EXPECT_EQ(heap_.snapshot(), flushed);
}

TEST_F(kept_blocks, serve_no_request_of_a_higher_alignment_than_their_size_gives) {
    const auto blocks = allocate(8, 48); // at multiples of 16
    deallocate(blocks, 48);
    std::set<void*> kept(blocks.begin(), blocks.end());
    for (int i = 0; i < 8; ++i) {
        void* const got = heap_->allocate(48, 64);
        EXPECT_TRUE(is_aligned(heap_.offset_of(got), 64));
        EXPECT_FALSE(kept.contains(got));
    }
    EXPECT_EQ(heap_->allocate(48, 48), nullptr) << "no alignment";
    EXPECT_TRUE(kept.contains(heap_->allocate(48, 16)));
    void* const aligned = heap_->allocate(48, 64);
    heap_->deallocate(aligned, 48, 64);
    EXPECT_EQ(heap_->allocate(48), aligned) << "what is aligned more fits, too";
}

// M3
TEST_F(kept_blocks, are_freed_before_the_heap_grows) {
    const auto blocks = allocate(k_slab_bytes / k_bytes); // a whole slab
    while (heap_->allocate(8) < blocks.back()) {
    }
    const std::vector<void*> neighbours(blocks.begin() + 100, blocks.begin() + 100 + k_most);
    allocate(k_slab_granules - 1, 8); // and the next one
    const std::uint32_t pages = pages_in_use();
    deallocate(neighbours);
    void* const longer = heap_->allocate(k_most * k_bytes);
    EXPECT_EQ(longer, neighbours.front());
    EXPECT_EQ(pages_in_use(), pages);
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(kept_blocks, give_their_slab_back_before_the_heap_grows_by_a_large_block) {
    const auto slab = allocate(10, 504);
    const auto next = allocate(k_slab_bytes / 504 + 10, 512);
    ASSERT_NE(heap_.offset_of(next.back()) / k_slab_bytes, heap_.offset_of(slab[0]) / k_slab_bytes);
    std::vector<std::pair<void*, std::size_t>> first;
    heap_->for_each_block([&](block each) {
        if (heap_.offset_of(each.start) / k_slab_bytes == heap_.offset_of(slab[0]) / k_slab_bytes)
            first.emplace_back(each.start, each.bytes);
    });
    const std::uint32_t pages = pages_in_use();
    for (const auto& [at, bytes] : first)
        deallocate({at}, bytes);
    EXPECT_LE(heap_.offset_of(heap_->allocate(k_slab_bytes)) / k_slab_bytes, heap_.offset_of(slab[0]) / k_slab_bytes);
    EXPECT_EQ(pages_in_use(), pages);
    EXPECT_TRUE(is_sound(*heap_));
}

// M2
TEST_F(kept_blocks, are_forgotten_when_the_memory_is_restored) {
    const auto blocks = allocate(3);
    const auto committed = heap_.snapshot();
    deallocate(blocks);
    heap_.restore(committed);
    ASSERT_TRUE(heap_->check_state());
    EXPECT_EQ(heap_->allocated_bytes(), 3 * k_bytes);
    const std::set<void*> live(blocks.begin(), blocks.end());
    EXPECT_FALSE(live.contains(heap_->allocate(k_bytes)));
    deallocate(blocks);
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(kept_blocks, are_not_handed_out_once_damage_was_found) {
    const auto blocks = allocate(3);
    deallocate({blocks[0]});
    heap_.state().current_slab = 0x7fff'fff0;
    EXPECT_EQ(heap_->allocate(64), nullptr);
    ASSERT_TRUE(heap_->damaged());
    EXPECT_EQ(heap_->allocate(k_bytes), nullptr);
    const auto damaged = heap_.snapshot();
    heap_->flush();
    EXPECT_EQ(heap_.snapshot(), damaged);
}

TEST_F(kept_blocks, whose_bits_somebody_wrote_over_are_damage) {
    const auto blocks = allocate(2);
    deallocate(blocks);
    const section& home = section_of(16);
    std::memset(heap_.base() + home.start_bits_offset(16), 0, k_bitmap_bytes * k_slab_pages);
    heap_->flush();
    ASSERT_TRUE(heap_->damaged());
    EXPECT_EQ(heap_->allocate(k_bytes), nullptr);
}

TEST_F(kept_blocks, cannot_be_freed_again) {
    GTEST_FLAG_SET(death_test_style, "fast");
    const auto blocks = allocate(2 * k_most);
    deallocate(blocks);
    for (void* const gone : {blocks[0], blocks[k_most - 1], blocks[k_most], blocks.back()}) {
        EXPECT_DEATH(deallocate({gone}, k_bytes), "not an allocated block of this size");
        EXPECT_DEATH(deallocate({gone}, k_bytes + 8), "not an allocated block of this size");
    }
}

} // namespace
} // namespace remanence::alloc
