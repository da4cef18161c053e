// Volatile heaps in C: the calls for memory, and what all others say.
#include "fixture.hpp"

#include "support/calls.hpp"

#include <remanence/volatile_heap.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test {

namespace {

class c_volatile : public testing::Test {
protected:
    void SetUp() override { ASSERT_OK(rem_open_volatile(nullptr, &heap)); }
    void TearDown() override {
        if (rem_is_open(heap)) {
            EXPECT_OK(rem_close(heap));
        }
    }
    std::uint64_t allocated() {
        rem_stats stats{};
        stats.size = sizeof stats;
        EXPECT_OK(rem_get_stats(heap, &stats));
        return stats.allocated_bytes;
    }

    rem_heap* heap = nullptr;
};

TEST_F(c_volatile, blocks_are_freed_without_heap_or_size) {
    const std::uint64_t before = allocated();
    std::vector<void*> blocks;
    for (std::size_t size = 0; size < 1'000'000; size = size * 3 / 2 + 1) {
        blocks.push_back(rem_alloc(heap, size));
        ASSERT_NE(blocks.back(), nullptr);
        std::memset(blocks.back(), 'x', size);
        EXPECT_GE(rem_usable_size(blocks.back()), std::max<std::size_t>(size, 1));
        EXPECT_EQ(rem_heap_of(blocks.back()), heap);
    }
    EXPECT_GT(allocated(), before);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
    for (void* const block : blocks)
        EXPECT_OK(rem_free(block));
    EXPECT_EQ(allocated(), before);
}

TEST_F(c_volatile, mistakes_are_a_status) {
    for (const std::size_t size : {16U, 100U, 5000U, 300'000U}) {
        auto* const block = static_cast<char*>(rem_alloc(heap, size));
        auto* const kept = static_cast<char*>(rem_alloc(heap, size));
        EXPECT_STATUS(rem_free(block + 8), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_usable_size(block + 1), 0U);
        EXPECT_EQ(rem_realloc(heap, block + 8, 10), nullptr);
        EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
        EXPECT_OK(rem_free(block));
        EXPECT_STATUS(rem_free(block), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_usable_size(block), 0U);
        EXPECT_EQ(rem_realloc(heap, block, 10), nullptr);
        EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
        EXPECT_OK(rem_free(kept));
    }
    constexpr std::size_t k_max = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(rem_alloc(heap, k_max), nullptr);
    EXPECT_EQ(last_status(), REM_NO_MEMORY);
    EXPECT_EQ(rem_calloc(heap, k_max / 8, 16), nullptr);
    EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{24}, std::size_t{2} << 30}) {
        EXPECT_EQ(rem_alloc_aligned(heap, alignment, 8), nullptr);
        EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    }
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_volatile, realloc_keeps_the_contents) {
    auto* block = static_cast<char*>(rem_realloc(heap, nullptr, 10));
    std::strcpy(block, "contents");
    for (const std::size_t size : {100U, 10'000U, 3'000'000U, 50'000'000U, 20U}) {
        block = static_cast<char*>(rem_realloc(heap, block, size));
        ASSERT_NE(block, nullptr);
        EXPECT_STREQ(block, "contents");
    }
    EXPECT_EQ(rem_realloc(heap, block, std::numeric_limits<std::size_t>::max()), nullptr);
    EXPECT_EQ(last_status(), REM_NO_MEMORY);
    EXPECT_STREQ(block, "contents");
}

TEST_F(c_volatile, a_dynamic_block_grows_where_it_is) {
    auto* const block = static_cast<char*>(rem_alloc_dynamic(heap, 10, 10'000'000));
    ASSERT_NE(block, nullptr);
    std::strcpy(block, "contents");
    for (const std::size_t size : {300'000U, 10'000'000U, 20U, 5'000'000U}) {
        EXPECT_EQ(rem_realloc(heap, block, size), block);
        EXPECT_NE(rem_alloc(heap, 1'000'000), nullptr);
    }
    EXPECT_STREQ(block, "contents");
    EXPECT_GE(rem_usable_size(block), 10'000'000U);
    EXPECT_OK(rem_free(block));
    EXPECT_EQ(rem_alloc_dynamic(heap, 10, std::numeric_limits<std::size_t>::max()), nullptr);
    EXPECT_EQ(last_status(), REM_NO_MEMORY);
}

TEST_F(c_volatile, what_needs_a_file_is_not_supported) {
    int object = 0;
    std::uint64_t number = 0;
    std::size_t size = 0;
    EXPECT_STATUS(rem_version(heap, &number), REM_NOT_SUPPORTED);
    EXPECT_STATUS(rem_touch(heap, &object, sizeof object), REM_NOT_SUPPORTED);
    for (auto* const call : {&rem_write_begin, &rem_write_end, &rem_write_abort, &rem_read_begin, &rem_read_end,
                             &rem_sync, &rem_rollback, &rem_checkpoint})
        EXPECT_STATUS(call(heap), REM_NOT_SUPPORTED);
    EXPECT_STATUS(rem_commit(heap, REM_DURABLE), REM_NOT_SUPPORTED);
    EXPECT_STATUS(rem_commit_async(heap, nullptr), REM_NOT_SUPPORTED);
    EXPECT_STATUS(rem_shrink(heap, &number), REM_NOT_SUPPORTED);
    EXPECT_STATUS(rem_collect(heap, nullptr, nullptr), REM_NOT_SUPPORTED);
    EXPECT_STATUS(rem_limit_memory(heap, 0), REM_NOT_SUPPORTED);
    EXPECT_STATUS(rem_changed_pages(heap, &size), REM_NOT_SUPPORTED);
    EXPECT_EQ(rem_path(heap), nullptr);
    EXPECT_EQ(last_status(), REM_NOT_SUPPORTED);
}

/// What on_leaks told.
struct told_leaks {
    std::size_t blocks = 0;
    std::size_t bytes = 0;
    std::map<std::size_t, std::size_t> blocks_of_size;
    std::vector<std::string> calls;  // of the place with the most bytes
    std::size_t requested_bytes = 0; // there

    static void note(void* into, const rem_leaks* left) {
        auto& told = *static_cast<told_leaks*>(into);
        told.blocks = left->blocks;
        told.bytes = left->bytes;
        for (std::size_t i = 0; i != left->class_count; ++i)
            told.blocks_of_size[left->classes[i].block_bytes] = left->classes[i].blocks;
        if (left->place_count == 0)
            return;
        told.calls.assign(left->places[0].calls, left->places[0].calls + left->places[0].call_count);
        told.requested_bytes = left->places[0].requested_bytes;
    }
    rem_volatile_options options() {
        rem_volatile_options telling{};
        telling.size = sizeof telling;
        telling.on_leaks = note;
        telling.context = this;
        return telling;
    }
};

TEST_F(c_volatile, a_heap_ends_with_all_that_is_in_it) {
    rem_heap* second = nullptr;
    told_leaks left;
    const rem_volatile_options options = left.options();
    ASSERT_OK(rem_open_volatile(&options, &second));
    void* const block = rem_alloc(second, 128);
    EXPECT_NE(rem_alloc(second, 128), nullptr);
    EXPECT_NE(rem_alloc(second, 100'000), nullptr);
    ASSERT_OK(rem_close(second));
    EXPECT_EQ(left.blocks, 3U);
    EXPECT_GE(left.bytes, 100'256U);
    EXPECT_EQ(left.blocks_of_size, (std::map<std::size_t, std::size_t>{{128, 2}, {131'072, 1}}));
    EXPECT_TRUE(left.calls.empty());
    EXPECT_EQ(rem_heap_of(block), nullptr);
    EXPECT_STATUS(rem_free(block), REM_INVALID_ARGUMENT);
    EXPECT_EQ(rem_alloc(second, 100), nullptr);
    EXPECT_EQ(last_status(), REM_CLOSED);
    EXPECT_STATUS(rem_close(second), REM_CLOSED);
}

TEST_F(c_volatile, leaks_have_the_calls_that_led_there_if_asked_for) {
    rem_heap* second = nullptr;
    told_leaks left;
    rem_volatile_options options = left.options();
    options.leak_frames = 33;
    EXPECT_STATUS(rem_open_volatile(&options, &second), REM_INVALID_ARGUMENT);
    options.leak_frames = 8;
    ASSERT_OK(rem_open_volatile(&options, &second));
    for (int i = 0; i != 3; ++i)
        EXPECT_NE(rem_alloc(second, 1000), nullptr);
    EXPECT_NE(rem_alloc(second, 10), nullptr);
    ASSERT_OK(rem_close(second));
    EXPECT_EQ(left.blocks, 4U);
    EXPECT_EQ(left.requested_bytes, 3000U);
    EXPECT_FALSE(left.calls.empty());
}

TEST_F(c_volatile, places_of_leaks_begin_with_the_call_of_the_program) {
    struct ways {
        static void* alloc(rem_heap* h) { return after_call(rem_alloc(h, 100)); }
        static void* alloc_dynamic(rem_heap* h) { return after_call(rem_alloc_dynamic(h, 10, 100)); }
        static void* calloc(rem_heap* h) { return after_call(rem_calloc(h, 1, 100)); }
        static void* realloc(rem_heap* h) { return after_call(rem_realloc(h, rem_alloc(h, 100), 1000)); }
    };
    using function = void* (*)(rem_heap*);
    for (const function each :
         {function(ways::alloc), function(ways::alloc_dynamic), function(ways::calloc), function(ways::realloc)}) {
        rem_heap* second = nullptr;
        told_leaks left;
        rem_volatile_options options = left.options();
        options.leak_frames = 4;
        ASSERT_OK(rem_open_volatile(&options, &second));
        ASSERT_NE(each(second), nullptr);
        ASSERT_OK(rem_close(second));
        ASSERT_FALSE(left.calls.empty());
        EXPECT_EQ(function_of(left.calls[0]), reinterpret_cast<void*>(each)) << left.calls[0];
    }
}

TEST_F(c_volatile, options_out_of_range_open_nothing) {
    rem_heap* second = heap;
    rem_volatile_options options{};
    EXPECT_STATUS(rem_open_volatile(&options, &second), REM_INVALID_ARGUMENT); // no size
    EXPECT_EQ(second, nullptr);
    options.size = sizeof options;
    EXPECT_STATUS(rem_open_volatile(&options, nullptr), REM_INVALID_ARGUMENT);
    options.red_zone_bytes = 5000;
    EXPECT_STATUS(rem_open_volatile(&options, &second), REM_INVALID_ARGUMENT);
    options = {};
    options.size = sizeof options;
    options.reserve_bytes = ~std::size_t{0};
    EXPECT_STATUS(rem_open_volatile(&options, &second), REM_INVALID_ARGUMENT);
}

TEST_F(c_volatile, blocks_of_cpp_heaps_are_theirs) {
    volatile_heap of_cpp;
    void* const block = of_cpp.allocate(100);
    EXPECT_EQ(rem_heap_of(block), nullptr);
    EXPECT_STATUS(rem_free(block), REM_INVALID_ARGUMENT);
    of_cpp.deallocate(block, 100);
}

} // namespace

} // namespace remanence::test
