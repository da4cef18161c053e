// Blocks that were given back and are freed together (G1), as the allocator's callers see them.

#include "alloc/returned_blocks.hpp"

#include "test_heap.hpp"

#include <vector>

namespace remanence::alloc {
namespace {

constexpr std::size_t k_each = 112;
constexpr std::size_t k_waiting = returned_blocks::k_capacity - 1; // that wait

class blocks_given_back : public testing::Test {
protected:
    std::vector<void*> allocate(std::size_t count) {
        std::vector<void*> got(count);
        for (void*& at : got)
            at = heap_->allocate(k_each);
        return got;
    }
    void give_back(const std::vector<void*>& blocks) {
        for (void* at : blocks)
            heap_->deallocate(at, k_each);
    }

    test_heap heap_;
    const std::vector<void*> blocks_ = allocate(60);
};

TEST_F(blocks_given_back, wait_until_there_are_some) {
    give_back({blocks_.begin(), blocks_.begin() + 24}); // so that magazines are full
    heap_->free_returned();
    const auto before = heap_.snapshot();
    give_back({blocks_.begin() + 24, blocks_.begin() + 24 + k_waiting});
    EXPECT_EQ(heap_.snapshot(), before);
    give_back({blocks_[24 + k_waiting]});
    EXPECT_NE(heap_.snapshot(), before);
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(blocks_given_back, are_no_blocks_for_who_asks) {
    const std::uint64_t held = heap_->allocated_bytes();
    const occupancy full = heap_->survey();
    give_back({blocks_[1], blocks_[3]});
    EXPECT_EQ(heap_->allocated_bytes(), held - 2 * k_each);
    EXPECT_EQ(heap_->block_of(blocks_[1]), std::nullopt);
    EXPECT_EQ(heap_->block_of(static_cast<std::byte*>(blocks_[3]) + 50), std::nullopt);
    EXPECT_NE(heap_->block_of(blocks_[2]), std::nullopt);
    const occupancy now = heap_->survey();
    EXPECT_EQ(now.blocks, full.blocks - 2);
    EXPECT_EQ(now.allocated_bytes, heap_->allocated_bytes());
    EXPECT_EQ(now.taken_bytes(), full.taken_bytes());
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(blocks_given_back, serve_the_next_request_the_last_first) {
    give_back({blocks_[7], blocks_[5]});
    EXPECT_EQ(heap_->allocate(k_each), blocks_[5]);
    EXPECT_EQ(heap_->allocate(k_each), blocks_[7]);
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(blocks_given_back, are_free_in_the_memory_once_flushed) {
    give_back({blocks_.begin(), blocks_.begin() + k_waiting});
    heap_->flush();
    EXPECT_EQ(heap_.state().allocated_bytes, (blocks_.size() - k_waiting) * k_each);
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(blocks_given_back, are_forgotten_when_the_memory_is_restored) {
    const auto committed = heap_.snapshot();
    give_back({blocks_[0], blocks_[1]});
    heap_.restore(committed);
    ASSERT_TRUE(heap_->check_state());
    EXPECT_EQ(heap_->allocated_bytes(), blocks_.size() * k_each);
    EXPECT_NE(heap_->block_of(blocks_[0]), std::nullopt);
    heap_->flush();
    EXPECT_EQ(heap_.snapshot(), committed);
}

TEST_F(blocks_given_back, stay_where_they_are_once_damage_was_found) {
    heap_.state().current_slab = 0x7fff'fff0;
    EXPECT_EQ(heap_->allocate(64), nullptr);
    ASSERT_TRUE(heap_->damaged());
    const auto damaged = heap_.snapshot();
    give_back(blocks_);
    heap_->flush();
    EXPECT_EQ(heap_.snapshot(), damaged);
}

// However it is asked for: by who allocates, before a commit, and when enough were given back.
TEST_F(blocks_given_back, that_are_none_end_the_process_before_harm_is_done) {
    GTEST_FLAG_SET(death_test_style, "fast");
    const char* const message = "112 bytes.: not an allocated block of this size in this heap, one of the last 16 "
                                "small ones that were given back";
    give_back({blocks_[0], blocks_[0]});
    EXPECT_DEATH((void)heap_->allocate(8), message);
    EXPECT_DEATH((void)heap_->allocate(100'000), message);
    EXPECT_DEATH(heap_->flush(), message);
    EXPECT_DEATH(heap_->release_empty_slab(), message);
    EXPECT_DEATH(give_back({blocks_.begin() + 1, blocks_.begin() + k_waiting}), message);
    ASSERT_TRUE(heap_->check_state()); // a rollback
    EXPECT_NE(heap_->allocate(8), nullptr);
}

} // namespace
} // namespace remanence::alloc
