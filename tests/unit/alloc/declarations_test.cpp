// Whoever listens is told of every place that the allocator writes, or hands out, before that is done.

#include "support/seed.hpp"
#include "unit/alloc/test_heap.hpp"

#include <set>

namespace remanence::alloc {
namespace {

constexpr std::size_t k_block_sizes[] = {1, 16, 40, 700, 5000, 8192, 8193, 70'000, 300'000};

class declarations : public testing::Test {
protected:
    void listen() {
        told_.clear();
        before_ = heap_.snapshot();
        heap_->set_listener([this](std::uint64_t offset, std::uint64_t bytes) {
            for (std::uint64_t page = offset / k_page_bytes; page * k_page_bytes < offset + bytes; ++page) {
                if (told_.insert(page).second && !is_as_before(page))
                    ADD_FAILURE() << "page " << page << " was written before it was told of";
            }
        });
    }
    void stop() { heap_->set_listener({}); }
    [[nodiscard]] bool is_as_before(std::uint64_t page) const {
        const std::byte* const now = heap_.base() + page * k_page_bytes;
        if ((page + 1) * k_page_bytes <= before_.size())
            return std::memcmp(now, before_.data() + page * k_page_bytes, k_page_bytes) == 0;
        static const std::vector<std::byte> zeros(k_page_bytes);
        return std::memcmp(now, zeros.data(), k_page_bytes) == 0;
    }
    [[nodiscard]] std::set<std::uint64_t> changed() const {
        std::set<std::uint64_t> pages;
        for (std::uint64_t page = 0; page < heap_.accessible_bytes() / k_page_bytes; ++page) {
            if (!is_as_before(page))
                pages.insert(page);
        }
        return pages;
    }
    void expect_all_told_of() {
        for (const std::uint64_t page : changed())
            EXPECT_TRUE(told_.contains(page)) << "page " << page;
    }
    /// Fills what it gets, as a program does.
    void allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = heap_->allocate(bytes, alignment);
        ASSERT_NE(block, nullptr);
        std::memset(block, 0xa5, bytes);
        blocks_.push_back({block, bytes, alignment});
    }
    void deallocate(std::size_t index) {
        heap_->deallocate(blocks_[index].address, blocks_[index].bytes, blocks_[index].alignment);
        blocks_[index] = blocks_.back();
        blocks_.pop_back();
    }

    test_heap heap_;
    std::set<std::uint64_t> told_;
    std::vector<std::byte> before_;
    std::vector<live_block> blocks_;
};

TEST_F(declarations, name_every_page_that_random_operations_write) {
    random_engine random(test::random_seed());
    std::size_t pages = 0;
    for (int round = 0; round < 100; ++round) {
        listen();
        for (std::size_t i = 1 + random_below(random, 60); i > 0; --i) {
            // Now mostly one, now mostly the other, so that slabs and runs come and go.
            const bool grows = random_below(random, 10) < (round / 20 % 2 == 0 ? 7U : 3U);
            if (grows || blocks_.empty()) {
                const std::size_t bytes =
                    k_block_sizes[random_below(random, std::size(k_block_sizes))] + random_below(random, 60);
                ASSERT_NO_FATAL_FAILURE(allocate(bytes, std::size_t{1} << random_below(random, 14)));
            } else {
                deallocate(random_below(random, blocks_.size()));
            }
        }
        if (random_below(random, 5) == 0)
            heap_->release_empty_slab();
        stop();
        expect_all_told_of();
        pages += changed().size();
    }
    while (!blocks_.empty()) {
        listen();
        for (std::size_t i = std::min<std::size_t>(blocks_.size(), 100); i > 0; --i)
            deallocate(0);
        heap_->flush();
        stop();
        expect_all_told_of();
    }
    EXPECT_GT(pages, 2'000U) << "hardly anything was tried";
    EXPECT_TRUE(is_sound(*heap_));
}

TEST_F(declarations, are_few_for_a_small_block) {
    allocate(40, 16);
    listen();
    allocate(40, 16);
    stop();
    // State, descriptor, used bits, start bits, and the block's own page.
    EXPECT_LE(told_.size(), 5U);
    listen();
    deallocate(1);
    heap_->flush();
    stop();
    EXPECT_LE(told_.size(), 4U);
    EXPECT_FALSE(told_.empty());
}

TEST_F(declarations, reach_nobody_after_nobody_listens) {
    listen();
    stop();
    allocate(100'000, 16);
    EXPECT_TRUE(told_.empty());
    EXPECT_FALSE(changed().empty());
}

} // namespace
} // namespace remanence::alloc
