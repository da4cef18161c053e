#include <remanence/volatile_heap.hpp>

#include <gtest/gtest.h>

#include "os/memory_marks.hpp"
#include "support/calls.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory_resource>
#include <numeric>
#include <string>
#include <vector>

namespace remanence {
namespace {

TEST(volatile_heap, serves_containers_of_both_kinds) {
    volatile_heap scratch;
    std::pmr::vector<int> numbers(&scratch);
    for (int i = 0; i != 10'000; ++i)
        numbers.push_back(i);
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 9999 * 5000);
    EXPECT_EQ(volatile_heap::of(numbers.data()), &scratch);

    using pair = std::pair<const int, std::string>;
    std::map<int, std::string, std::less<>, volatile_allocator<pair>> names(scratch.get_allocator());
    for (int i = 0; i != 1000; ++i)
        names.emplace(i, std::to_string(i));
    EXPECT_EQ(volatile_heap::of(&*names.begin()), &scratch);
    EXPECT_TRUE(scratch.verify().clean());
    EXPECT_GT(scratch.stats().blocks, 1000U);
    const auto copy = names;
    EXPECT_EQ(copy.at(77), "77");
    EXPECT_TRUE(copy.get_allocator() == names.get_allocator());
}

TEST(volatile_heap, heaps_are_apart_and_found_by_address) {
    volatile_heap first;
    const auto second = std::make_unique<volatile_heap>();
    EXPECT_FALSE(first.is_equal(*second));
    void* const of_first = first.allocate(10);
    void* const of_second = second->allocate(1'000'000);
    EXPECT_EQ(volatile_heap::of(of_first), &first);
    EXPECT_EQ(volatile_heap::of(of_second), second.get());
    int local = 0;
    EXPECT_EQ(volatile_heap::of(&local), nullptr);
    EXPECT_EQ(volatile_heap::of(nullptr), nullptr);
    EXPECT_NE(&volatile_heap::process_default(), &first);
    EXPECT_EQ(&volatile_heap::process_default(), &volatile_heap::process_default());
    first.free(of_first);
}

TEST(volatile_heap, is_destroyed_at_once_with_its_blocks_and_says_which_were_left) {
    leak_report left;
    {
        volatile_heap scratch({.on_leaks = [&](const leak_report& report) { left = report; }});
        for (int i = 0; i != 7; ++i)
            (void)scratch.allocate(100);
        (void)scratch.allocate(300'000);
        scratch.free(scratch.allocate(5000));
    }
    EXPECT_EQ(left.blocks, 8U);
    ASSERT_EQ(left.classes.size(), 2U);
    EXPECT_EQ(left.classes[0].block_bytes, 128U);
    EXPECT_EQ(left.classes[0].blocks, 7U);
    EXPECT_EQ(left.classes[1].blocks, 1U);
}

TEST(volatile_heap, says_no_when_there_is_no_memory) {
    volatile_heap scratch({.reserve_bytes = 1});
    EXPECT_EQ(scratch.try_allocate(std::size_t{1} << 40U), nullptr);
    EXPECT_THROW((void)scratch.allocate(std::size_t{1} << 40U), std::bad_alloc);
    const volatile std::size_t no_power_of_two = 24; // else compilers refuse it
    EXPECT_THROW((void)scratch.allocate(10, no_power_of_two), std::bad_alloc);
    EXPECT_THROW((void)scratch.get_allocator<int>().allocate(~std::size_t{0} / 2), std::bad_array_new_length);
    void* const block = scratch.allocate(10);
    EXPECT_EQ(scratch.reallocate(block, std::size_t{1} << 40U), nullptr);
    EXPECT_EQ(scratch.usable_size(block), 16U);
    EXPECT_TRUE(scratch.verify().clean());
}

TEST(volatile_heap, no_bytes_are_a_block_and_too_many_are_none_with_guards_and_without) {
    for (const std::size_t red_zone_bytes : {std::size_t{0}, std::size_t{4096}}) {
        volatile_heap scratch({.reserve_bytes = 1, .red_zone_bytes = red_zone_bytes});
        void* const first = scratch.try_allocate(0);
        void* const second = scratch.try_allocate(0);
        ASSERT_NE(first, nullptr);
        EXPECT_NE(first, second);
        for (const std::size_t bytes :
             {~std::size_t{0}, ~std::size_t{0} - 100, ~std::size_t{0} / 2, std::size_t{1} << 40U}) {
            EXPECT_EQ(scratch.try_allocate(bytes), nullptr);
            EXPECT_EQ(scratch.try_allocate(bytes, 4096), nullptr);
            EXPECT_EQ(scratch.allocate_dynamic(1, bytes), nullptr);
            EXPECT_EQ(scratch.reallocate(first, bytes), nullptr);
        }
        for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{2} << 30U})
            EXPECT_EQ(scratch.try_allocate(10, alignment), nullptr) << alignment;
        EXPECT_EQ(scratch.stats().blocks, 2U);
        scratch.free(scratch.reallocate(first, 0));
        scratch.free(second);
        EXPECT_EQ(scratch.stats().blocks, 0U);
        EXPECT_TRUE(scratch.verify().clean());
    }
}

TEST(volatile_heap, options_out_of_range_are_refused) {
    const auto reason_of = [](const volatile_heap_options& options) {
        try {
            const volatile_heap refused(options);
        } catch (const error& found) {
            return found.reason();
        }
        return errc{};
    };
    EXPECT_EQ(reason_of({.reserve_bytes = std::uint64_t{17} << 40U}), errc::invalid_argument);
    EXPECT_EQ(reason_of({.red_zone_bytes = 5000}), errc::invalid_argument);
    EXPECT_EQ(reason_of({.leak_frames = 33}), errc::invalid_argument);
    const errc far_node = reason_of({.numa_node = 777});
    EXPECT_TRUE(far_node == errc::invalid_argument || far_node == errc::not_supported);
}

TEST(volatile_heap, of_the_first_numa_node_works_where_the_system_binds_memory) {
    try {
        volatile_heap scratch({.numa_node = 0});
        std::memset(scratch.allocate(1'000'000), 1, 1'000'000);
    } catch (const error& found) {
        EXPECT_EQ(found.reason(), errc::not_supported) << found.what();
    }
}

TEST(volatile_heap, blocks_grow_shrink_and_keep_their_contents) {
    volatile_heap scratch;
    auto* block = static_cast<char*>(scratch.reallocate(nullptr, 5));
    std::strcpy(block, "ABCD");
    for (const std::size_t bytes : {10U, 100U, 10'000U, 1'000'000U, 2'000'000U, 50U, 5U}) {
        block = static_cast<char*>(scratch.reallocate(block, bytes));
        ASSERT_STREQ(block, "ABCD");
        ASSERT_GE(scratch.usable_size(block), bytes);
    }
    scratch.free(block);
    EXPECT_EQ(scratch.stats().blocks, 0U);
}

TEST(volatile_heap, guard_bytes_say_what_was_asked_for_and_find_who_wrote_behind_it) {
    volatile_heap scratch({.red_zone_bytes = 8});
    auto* const block = static_cast<char*>(scratch.allocate(21));
    EXPECT_EQ(scratch.usable_size(block), 21U);
    auto* const large = static_cast<char*>(scratch.allocate_dynamic(10, 200'000));
    EXPECT_EQ(scratch.reallocate(large, 200'000), large);
    EXPECT_EQ(scratch.stats().requested_bytes, 200'021U);
    auto* const grown = static_cast<char*>(scratch.reallocate(block, 22));
    EXPECT_EQ(scratch.usable_size(grown), 22U);
    EXPECT_TRUE(scratch.verify().clean());

    os::allow_memory(grown + 22, 1); // or AddressSanitizer finds it first
    grown[22] = 1;
    const volatile_verify_report report = scratch.verify();
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_EQ(report.problems[0].address, grown);
    EXPECT_DEATH(scratch.free(grown), "overwritten");
    EXPECT_DEATH((void)scratch.reallocate(grown, 5), "overwritten");
}

struct leaked_thing {
    std::uint64_t words[5];
};

[[gnu::noinline]] void leak_in(volatile_heap& heap, std::size_t bytes) { (void)heap.allocate(bytes); }

TEST(volatile_heap, tells_what_leaked_by_type_and_by_the_calls_that_led_there) {
    leak_report left;
    {
        volatile_heap scratch({.leak_frames = 16, .on_leaks = [&](const leak_report& report) { left = report; }});
        for (int i = 0; i != 3; ++i)
            (void)scratch.get_allocator<leaked_thing>().allocate(2);
        for (const std::size_t bytes : {1000U, 2000U})
            leak_in(scratch, bytes);
        void* const freed = scratch.get_allocator<int>().allocate(1);
        void* const grown = scratch.reallocate(freed, 100'000); // of ints still
        scratch.free(grown);
        EXPECT_TRUE(scratch.verify().clean());
        EXPECT_EQ(scratch.stats().requested_bytes, 3 * 2 * sizeof(leaked_thing) + 3000);
    }
    EXPECT_EQ(left.blocks, 5U);
    ASSERT_EQ(left.types.size(), 2U);
    EXPECT_EQ(left.types[0].name, "");
    EXPECT_EQ(left.types[0].blocks, 2U);
    EXPECT_EQ(left.types[0].requested_bytes, 3000U);
    EXPECT_NE(left.types[1].name.find("leaked_thing"), std::string::npos) << left.types[1].name;
    EXPECT_EQ(left.types[1].blocks, 3U);
    EXPECT_EQ(left.types[1].requested_bytes, 3 * 2 * sizeof(leaked_thing));
    ASSERT_GE(left.places.size(), 2U) << "the loops may be unrolled";
    std::uint64_t blocks = 0;
    for (const leak_report::place& each : left.places) {
        blocks += each.blocks;
        EXPECT_GE(each.calls.size(), 3U);
        EXPECT_LE(each.calls.size(), 16U);
    }
    EXPECT_EQ(blocks, 5U);
    EXPECT_TRUE(std::ranges::is_sorted(left.places, std::ranges::greater{}, &leak_report::place::requested_bytes));
}

TEST(volatile_heap, a_place_of_leaks_begins_with_the_call_of_the_program) {
    using test::after_call;
    struct ways {
        static void* allocate(volatile_heap& h) { return after_call(h.try_allocate(100)); }
        static void* allocate_zeros(volatile_heap& h) { return after_call(h.try_allocate_zeros(100)); }
        static void* allocate_dynamic(volatile_heap& h) { return after_call(h.allocate_dynamic(100, 200)); }
        static void* reallocate_nothing(volatile_heap& h) { return after_call(h.reallocate(nullptr, 100)); }
        static void* reallocate(volatile_heap& h) { return after_call(h.reallocate(h.try_allocate(10), 1000)); }
    };
    using function = void* (*)(volatile_heap&);
    for (const function each :
         {function(ways::allocate), function(ways::allocate_zeros), function(ways::allocate_dynamic),
          function(ways::reallocate_nothing), function(ways::reallocate)}) {
        leak_report left;
        {
            volatile_heap scratch({.leak_frames = 4, .on_leaks = [&](const leak_report& report) { left = report; }});
            (void)each(scratch);
        }
        ASSERT_EQ(left.places.size(), 1U);
        EXPECT_EQ(test::function_of(left.places[0].calls.at(0)), reinterpret_cast<void*>(each));
    }
}

TEST(volatile_heap, without_guards_leaks_have_sizes_only) {
    leak_report left;
    {
        volatile_heap scratch({.on_leaks = [&](const leak_report& report) { left = report; }});
        (void)scratch.get_allocator<leaked_thing>().allocate(2);
    }
    EXPECT_EQ(left.blocks, 1U);
    EXPECT_TRUE(left.types.empty());
    EXPECT_TRUE(left.places.empty());
}

TEST(volatile_heap, wrong_frees_end_the_process_at_once) {
    volatile_heap scratch;
    auto* const block = static_cast<char*>(scratch.allocate(40));
    void* const freed = scratch.allocate(40);
    scratch.free(freed);
    EXPECT_DEATH(scratch.free(freed), "0x[0-9a-f]+: .*freed already");
    EXPECT_DEATH((void)scratch.reallocate(freed, 50), "freed already");
    EXPECT_DEATH(scratch.free(block + 16), "at which no block begins");
    EXPECT_DEATH(scratch.free(&scratch), "never allocated here");
    volatile_heap other;
    EXPECT_DEATH(other.free(block), "never allocated here");
    scratch.free(block);
    scratch.free(nullptr);
    EXPECT_TRUE(scratch.verify().clean());
}

/// In builds with AddressSanitizer only.
TEST(volatile_heap, address_sanitizer_knows_its_blocks) {
    if constexpr (!os::k_marks_memory)
        GTEST_SKIP() << "not a build with AddressSanitizer";
    volatile_heap scratch({.red_zone_bytes = 16});
    auto* volatile const block = static_cast<char*>(scratch.allocate(40));
    block[39] = 1;
    EXPECT_DEATH(block[40] = 1, "use-after-poison");
    scratch.free(block);
    EXPECT_DEATH(block[0] = 1, "use-after-poison");
    auto* volatile const large = static_cast<char*>(scratch.reallocate(scratch.allocate(300'000), 500'000));
    large[499'999] = 1;
    EXPECT_DEATH(large[500'000] = 1, "use-after-poison");
    scratch.free(large);
    EXPECT_DEATH(large[100] = 1, "use-after-poison");
}

TEST(volatile_heap, shares_are_between_nothing_and_all) {
    volatile_heap scratch;
    std::vector<void*> blocks;
    for (int i = 0; i != 10'000; ++i)
        blocks.push_back(std::memset(scratch.allocate(64), 1, 64));
    const double full = scratch.stats().page_efficiency;
    EXPECT_GT(full, 0.5);
    EXPECT_LE(full, 1);
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        scratch.free(blocks[i]);
    const volatile_heap_stats half = scratch.stats();
    EXPECT_LT(half.page_efficiency, full);
    EXPECT_LT(half.availability, 0.5) << "small holes serve small requests only";
    EXPECT_FALSE(half.requested_bytes.has_value());
}

} // namespace
} // namespace remanence
