#include <remanence/allocator.hpp>
#include <remanence/containers/standard.hpp>
#include <remanence/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace rem = remanence;
using remanence::detail::heap_header;

namespace allocator_test {

// No heap is open here. Behaviour inside heaps is tested by tests/conformance, construction by construct_test.cpp.

using traits = std::allocator_traits<rem::allocator<int>>;
static_assert(sizeof(rem::allocator<int>) == 8);
static_assert(!traits::propagate_on_container_copy_assignment::value);
static_assert(!traits::propagate_on_container_move_assignment::value);
static_assert(traits::propagate_on_container_swap::value); // so that it sees, and refuses, a swap between heaps
static_assert(!std::is_nothrow_swappable_v<rem::allocator<int>>);
static_assert(!traits::is_always_equal::value);
static_assert(std::is_same_v<traits::pointer, int*>);
static_assert(std::is_nothrow_copy_constructible_v<rem::allocator<int>>);
static_assert(std::is_convertible_v<rem::allocator<char>, rem::allocator<int>>);
static_assert(!std::is_convertible_v<heap_header*, rem::allocator<int>>);

// Headers of heaps, where no allocation goes to.
heap_header* pretended(std::uintptr_t gibibyte) { return reinterpret_cast<heap_header*>(gibibyte << 30); }

TEST(allocator, belongs_to_no_heap_when_none_is_open) { EXPECT_EQ(rem::allocator<int>().heap(), nullptr); }

TEST(allocator, without_a_heap_uses_operator_new) {
    rem::allocator<int> outside(nullptr);
    int* block = outside.allocate(100);
    ASSERT_NE(block, nullptr);
    block[99] = 5;
    outside.deallocate(block, 100);
}

TEST(allocator, blocks_of_no_heap_are_marked_while_they_live) {
    rem::allocator<char> outside(nullptr);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{24}, std::size_t{100'000}}) {
        char* const block = outside.allocate(bytes);
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        EXPECT_EQ(address % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0U);
        EXPECT_EQ(remanence::detail::outside_mark_before(block), remanence::detail::outside_mark_of(address));
        outside.deallocate(block, bytes);
    }
}

TEST(allocator_DeathTest, without_a_heap_refuses_a_block_that_is_not_its_own) {
    rem::allocator<std::uint64_t> outside(nullptr);
    std::uint64_t others[4] = {};
    EXPECT_DEATH(outside.deallocate(&others[2], 1), "not a block that an allocator of no heap gave out");
}

TEST(allocator, swaps_with_an_equal_one_only) {
    rem::allocator<int> one(pretended(1));
    rem::allocator<int> same(pretended(1));
    rem::allocator<int> other(pretended(2));
    EXPECT_NO_THROW(swap(one, same));
    EXPECT_THROW(swap(one, other), rem::error);
    EXPECT_EQ(one.heap(), pretended(1));
}

TEST(allocator, without_a_heap_respects_large_alignments) {
    struct alignas(256) wide {
        char bytes[256];
    };
    rem::allocator<wide> outside(nullptr);
    wide* block = outside.allocate(3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 256, 0U);
    outside.deallocate(block, 3);
}

TEST(allocator, refuses_counts_beyond_the_address_space) {
    rem::allocator<std::uint64_t> outside(nullptr);
    EXPECT_THROW((void)outside.allocate(outside.max_size() + 1), std::bad_array_new_length);
    EXPECT_THROW((void)outside.allocate(std::numeric_limits<std::size_t>::max()), std::bad_array_new_length);
    rem::allocator<std::uint64_t> inside(pretended(1));
    EXPECT_THROW((void)inside.allocate(inside.max_size() + 1), std::bad_array_new_length);
}

TEST(allocator, is_equal_when_it_belongs_to_the_same_heap) {
    const rem::allocator<int> one(pretended(1));
    const rem::allocator<int> other(pretended(2));
    EXPECT_EQ(one, rem::allocator<int>(one));
    EXPECT_EQ(one, rem::allocator<char>(one));
    EXPECT_NE(one, other);
    EXPECT_NE(one, rem::allocator<int>(nullptr));
    EXPECT_EQ(rem::allocator<char>(other).heap(), other.heap());
}

TEST(allocator, copies_of_a_container_belong_where_new_objects_belong) {
    const rem::allocator<int> inside(pretended(1));
    EXPECT_EQ(traits::select_on_container_copy_construction(inside), rem::allocator<int>());
}

TEST(allocator, objects_learn_their_heap_at_any_depth) {
    // Empty and short containers allocate nothing, so a pretended heap will do.
    struct inner {
        rem::string text;
        rem::vector<rem::string> list;
    };
    using nested = std::pair<rem::string, inner>;
    heap_header* const heap = pretended(1);
    rem::allocator<int> inside(heap); // as containers do: rebound to their nodes
    alignas(nested) std::byte raw[sizeof(nested)];
    auto* object = reinterpret_cast<nested*>(raw);
    traits::construct(inside, object, nested("short", inner{"tiny", {}}));
    EXPECT_EQ(object->first.get_allocator().heap(), heap);
    EXPECT_EQ(object->second.text.get_allocator().heap(), heap);
    EXPECT_EQ(object->second.list.get_allocator().heap(), heap);
    EXPECT_EQ(object->second.text, "tiny");
    std::destroy_at(object);
}

} // namespace allocator_test
