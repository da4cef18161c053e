#include "alloc/availability.hpp"
#include "alloc/block_allocator.hpp"

#include "test_heap.hpp"

#include <vector>

namespace remanence::alloc {
namespace {

TEST(availability, is_1_of_one_piece_and_falls_with_pieces) {
    availability_sum none;
    EXPECT_EQ(none.value(), 1);
    availability_sum one;
    one.add(4096);
    EXPECT_EQ(one.value(), 1);
    availability_sum two; // of 2,048 bytes: all sizes but 4,096 are served as well
    two.add(2048, 2);
    EXPECT_DOUBLE_EQ(two.value(), 8.0 / 9);
    availability_sum many; // of 16 bytes, the least there is
    many.add(16, 256);
    EXPECT_DOUBLE_EQ(many.value(), 1.0 / 9);
}

TEST(occupancy, tells_what_free_memory_can_serve_and_how_full_pages_are) {
    test_heap heap;
    EXPECT_EQ(heap->survey().page_efficiency(), 0) << "the header page is in use, no block is";
    std::vector<void*> blocks;
    for (int i = 0; i != 64 * 100; ++i)
        blocks.push_back(heap->allocate(64));
    heap->flush();
    const occupancy full = heap->survey();
    EXPECT_EQ(full.block_page_bytes, 100 * k_page_bytes);
    const auto pages = static_cast<double>(100 * k_page_bytes + full.metadata_bytes);
    EXPECT_DOUBLE_EQ(full.page_efficiency(), 100 * k_page_bytes / pages);

    for (std::size_t i = 0; i != blocks.size(); i += 2)
        heap->deallocate(blocks[i], 64);
    heap->flush();
    const occupancy half = heap->survey();
    EXPECT_EQ(half.block_page_bytes, full.block_page_bytes);
    EXPECT_DOUBLE_EQ(half.page_efficiency(), full.page_efficiency() / 2);
    EXPECT_LT(half.availability, 0.5) << "holes of 64 bytes serve small requests only";

    for (std::size_t i = 1; i < blocks.size(); i += 2)
        heap->deallocate(blocks[i], 64);
    heap->flush();
    heap->release_empty_slab();
    EXPECT_EQ(heap->survey().block_page_bytes, 0U);
}

TEST(occupancy, counts_no_room_of_an_arena_and_no_structures_that_were_never_written) {
    test_heap heap;
    std::byte* const base = heap->make_arena("a", 256 * MiB, 0);
    ASSERT_NE(base, nullptr);
    for (int i = 0; i != 100; ++i)
        ASSERT_NE(heap->arena_at(base)->allocate(k_page_bytes), nullptr);
    const occupancy found = heap->survey();
    EXPECT_EQ(found.block_page_bytes, 100 * k_page_bytes);
    EXPECT_GE(found.metadata_bytes, 4 * k_page_bytes) << "two header pages, and descriptors of both";
    EXPECT_LE(found.metadata_bytes, 32 * k_page_bytes);
}

} // namespace
} // namespace remanence::alloc
