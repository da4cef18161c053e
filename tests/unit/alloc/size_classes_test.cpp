#include "alloc/size_classes.hpp"

#include <gtest/gtest.h>

namespace remanence::alloc {
namespace {

TEST(size_classes, every_request_gets_the_smallest_class_that_holds_it) {
    for (std::size_t bytes = 0; bytes <= k_small_bytes_max; ++bytes) {
        const std::uint32_t index = size_class_of(bytes);
        ASSERT_LT(index, k_class_count) << bytes;
        ASSERT_GE(k_size_classes[index].bytes, bytes);
        if (index > 0) {
            ASSERT_LT(k_size_classes[index - 1].bytes, std::max<std::size_t>(bytes, 1));
        }
    }
}

TEST(size_classes, padding_is_at_most_a_fifth_above_64_bytes) {
    for (std::size_t bytes = 65; bytes <= k_small_bytes_max; ++bytes) {
        const std::size_t got = k_size_classes[size_class_of(bytes)].bytes;
        ASSERT_LE((got - bytes) * 5, got) << bytes;
    }
}

TEST(size_classes, slabs_waste_at_most_an_eighth) {
    for (const size_class& of : k_size_classes) {
        const std::uint64_t slab_bytes = of.page_count * k_page_bytes;
        EXPECT_LE((slab_bytes - of.slot_count * of.bytes) * 8, slab_bytes) << of.bytes;
        EXPECT_LE(of.slot_count * of.bytes, slab_bytes);
        EXPECT_LE(slab_bytes, 64 * KiB);
        EXPECT_GE(of.slot_count, 4);
        EXPECT_TRUE(of.slot_count >= 32 || of.slot_count * of.bytes >= 28 * KiB) << of.bytes;
    }
}

TEST(size_classes, the_bitmap_of_a_slab_fits_that_of_its_first_page) {
    for (const size_class& of : k_size_classes)
        EXPECT_LE(of.word_count * 8, k_bitmap_bytes);
}

TEST(size_classes, reciprocals_divide_exactly_within_a_slab) {
    for (const size_class& of : k_size_classes) {
        for (std::uint32_t byte = 0; byte < of.page_count * k_page_bytes; ++byte) {
            ASSERT_EQ(of.slot_at(byte), byte / of.bytes) << of.bytes << " at " << byte;
        }
    }
}

TEST(size_classes, classes_that_divide_a_cache_line_never_straddle_one) {
    for (const size_class& of : k_size_classes) {
        if (64 % of.bytes != 0)
            continue;
        for (std::uint32_t slot = 0; slot < of.slot_count; ++slot) {
            EXPECT_EQ(slot * of.bytes / 64, ((slot + 1) * of.bytes - 1) / 64);
        }
    }
}

TEST(size_classes, an_aligned_request_gets_a_multiple_of_its_alignment) {
    for (std::size_t alignment = 1; alignment <= k_page_bytes; alignment *= 2) {
        for (std::size_t bytes = 0; bytes <= k_small_bytes_max; bytes += 7) {
            const std::uint32_t index = size_class_of(bytes, alignment);
            ASSERT_LT(index, k_class_count);
            ASSERT_GE(k_size_classes[index].bytes, bytes);
            ASSERT_TRUE(is_aligned(k_size_classes[index].bytes, alignment));
            ASSERT_EQ(size_class_of(k_size_classes[index].bytes, alignment), index)
                << "asking for the block's size gives the same class";
        }
    }
}

} // namespace
} // namespace remanence::alloc
