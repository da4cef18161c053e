// Blocks that are allocated at addresses which the caller names.
#include "alloc/block_allocator.hpp"

#include "test_heap.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace remanence::alloc {
namespace {

constexpr std::size_t k_sizes[] = {8, 24, 100, 512, 3000, 4096, 5000, 8192, 40'000};

TEST(placed_blocks, are_had_where_they_are_free_and_refused_elsewhere) {
    random_engine random(20261128);
    test_heap heap;
    std::map<void*, std::size_t> live;
    std::vector<std::pair<void*, std::size_t>> freed;
    std::size_t placed = 0;
    std::size_t refused = 0;
    for (int i = 0; i != 30'000; ++i) {
        const std::size_t what = random_below(random, 10);
        if (what < 4) {
            const std::size_t bytes = k_sizes[random_below(random, std::size(k_sizes))];
            if (void* const block = heap->allocate(bytes))
                live[block] = bytes;
        } else if (what < 7 && !live.empty()) {
            const auto which = std::next(live.begin(), static_cast<std::ptrdiff_t>(random_below(random, live.size())));
            heap->deallocate(which->first, which->second);
            freed.emplace_back(which->first, which->second);
            live.erase(which);
        } else if (!freed.empty()) {
            const auto [address, bytes] = freed[random_below(random, freed.size())];
            const auto* const first = static_cast<std::byte*>(address);
            const bool is_free = std::ranges::none_of(live, [&](const auto& each) {
                const auto* const other = static_cast<std::byte*>(each.first);
                return other < first + block_allocator::block_bytes(bytes) &&
                       first < other + block_allocator::block_bytes(each.second);
            });
            const bool is_there = heap->allocate_at(address, bytes, k_granule_bytes);
            ASSERT_TRUE(is_free || !is_there) << "step " << i;
            if (is_there) {
                live[address] = bytes;
                ++placed;
            } else {
                ++refused;
            }
            const auto found = heap->block_of(address);
            ASSERT_TRUE(!is_there || (found && found->start == address && found->bytes >= bytes));
        }
        if (i % 500 == 0) {
            heap->flush();
            ASSERT_TRUE(is_sound(*heap)) << "step " << i;
        }
    }
    EXPECT_GT(placed, 1'000U);
    EXPECT_GT(refused, 100U);
    for (const auto& [address, bytes] : live)
        heap->deallocate(address, bytes);
    heap->release_empty_slab();
    EXPECT_EQ(heap->allocated_bytes(), 0U);
    EXPECT_TRUE(is_sound(*heap));
}

TEST(placed_blocks, that_are_alone_in_the_heap_are_as_free_as_any_other_later) {
    for (const std::size_t bytes : k_sizes) {
        test_heap heap;
        void* const before = heap->allocate(bytes);
        const auto with_one = heap.snapshot();
        void* const block = heap->allocate(bytes);
        ASSERT_NE(block, nullptr);
        heap.restore(with_one); // as before it was allocated
        ASSERT_TRUE(heap->check_state());
        ASSERT_TRUE(heap->allocate_at(block, bytes, k_granule_bytes)) << bytes;
        EXPECT_FALSE(heap->allocate_at(block, bytes, k_granule_bytes)) << bytes;
        EXPECT_TRUE(is_sound(*heap)) << bytes;
        heap->deallocate(block, bytes);
        heap->deallocate(before, bytes);
        heap->release_empty_slab();
        EXPECT_TRUE(is_sound(*heap)) << bytes;
        EXPECT_EQ(heap->allocated_bytes(), 0U);
    }
}

TEST(placed_blocks, that_no_heap_has_are_refused) {
    test_heap heap;
    (void)heap->allocate(100);
    EXPECT_FALSE(heap->allocate_at(heap.base(), 100, k_granule_bytes)); // the header
    EXPECT_FALSE(heap->allocate_at(heap.base() + 64 * k_page_bytes + 4, 100, k_granule_bytes));
    EXPECT_FALSE(heap->allocate_at(heap.base() + 64 * k_page_bytes + 8, 10'000, k_granule_bytes));
    EXPECT_FALSE(heap->allocate_at(heap.base() + 5 * GiB, 100, k_granule_bytes)); // behind its limit
    EXPECT_TRUE(is_sound(*heap));
}

} // namespace
} // namespace remanence::alloc
