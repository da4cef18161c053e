// The ordered containers by themselves; tests/conformance compares them with the standard's.

#include <remanence/remanence.hpp>

#include "moving_arena.hpp"
#include "support/btree_inspector.hpp"
#include "support/seed.hpp"
#include "tagged_allocator.hpp"
#include "types/type_description.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rem = remanence;
using rem::detail::btree_inspector;

namespace btree_test {

const std::string k_long = "a text longer than any small buffer";

template <std::size_t NodeBytes, class Compare = std::less<>>
using int_set = rem::btree_set<int, Compare, std::allocator<int>, NodeBytes>;
template <std::size_t NodeBytes>
using int_multiset = rem::btree_multiset<int, std::less<>, std::allocator<int>, NodeBytes>;
using int_map = rem::btree_map<int, int, std::less<>, std::allocator<std::pair<const int, int>>>;
using text_map =
    rem::btree_map<std::string, std::string, std::less<>, std::allocator<std::pair<const std::string, std::string>>>;

static_assert(std::ranges::bidirectional_range<rem::btree_set<int>>);
static_assert(std::ranges::bidirectional_range<const rem::btree_map<int, rem::string>>);
static_assert(std::bidirectional_iterator<rem::btree_multimap<int, int>::const_iterator>);
static_assert(std::is_convertible_v<int_map::iterator, int_map::const_iterator>);
static_assert(!std::is_convertible_v<int_map::const_iterator, int_map::iterator>);
static_assert(std::is_same_v<rem::btree_set<int>::reference, int&>);
static_assert(std::is_same_v<decltype(*std::declval<rem::btree_set<int>&>().begin()), const int&>);
static_assert(std::is_nothrow_move_constructible_v<rem::btree_map<int, rem::string>>);
static_assert(sizeof(rem::btree_map<int, rem::string>) == 40);
static_assert(std::is_same_v<rem::btree_set<int>::allocator_type, rem::allocator<int>>);
static_assert(!std::is_constructible_v<int_set<0>, rem::sorted_equivalent_t, int*, int*>);

struct directory { // of itself
    rem::btree_map<int, directory> below;
    int number = 0;
};

struct holds_list {
    std::list<int> all;
};
struct holds_strings {
    rem::string a;
    std::array<rem::string, 2> b;
    rem::btree_set<int> c;
};
struct owner { // takes no part in moves: the copy that stands in for one would be destroyed as well
    int* closed;
    ~owner() { ++*closed; }
};
static_assert(rem::detail::is_self_contained<std::pair<rem::string, std::optional<rem::vector<int>>>>());
static_assert(rem::detail::is_self_contained<holds_strings>());
static_assert(!rem::detail::is_self_contained<owner>());
static_assert(!rem::detail::is_self_contained<holds_list>());
static_assert(!rem::detail::is_self_contained<std::atomic<int>>());
static_assert(rem::detail::btree_nodes<std::pair<const int, holds_strings>, 0>::k_is_inline);
static_assert(!rem::detail::btree_nodes<std::pair<const int, holds_list>, 0>::k_is_inline);
static_assert(!rem::detail::btree_nodes<std::array<char, 257>, 0>::k_is_inline);
static_assert(rem::detail::btree_nodes<std::array<char, 257>, 0>::k_slot_bytes == 8);

/// Counts its calls.
struct counting_less {
    static inline std::size_t calls = 0;
    bool operator()(int a, int b) const {
        ++calls;
        return a < b;
    }
};

std::vector<int> numbers(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

template <class Set, class Model>
void expect_equal(const Set& set, const Model& model) {
    EXPECT_EQ(btree_inspector::fault(set), "");
    EXPECT_TRUE(std::equal(set.begin(), set.end(), model.begin(), model.end()));
}

template <class Size>
class btree_of_size : public testing::Test {};
template <std::size_t Bytes>
using size_constant = std::integral_constant<std::size_t, Bytes>;
using sizes = testing::Types<size_constant<1>, size_constant<40>, size_constant<44>, size_constant<64>,
                             size_constant<256>, size_constant<0>>;
TYPED_TEST_SUITE(btree_of_size, sizes);

TYPED_TEST(btree_of_size, holds_what_a_std_multiset_holds) {
    std::mt19937 random(rem::test::random_seed());
    int_multiset<TypeParam::value> all;
    std::multiset<int> model;
    for (int round = 0; round < 40; ++round) {
        const int range = round % 4 == 0 ? 50 : 100'000;
        const bool grows = round % 5 < 3;
        for (int i = 0; i < 300; ++i) {
            const int key = static_cast<int>(random()) % range;
            if (random() % 4 != 0 ? grows : !grows) {
                EXPECT_EQ(*all.insert(key), *model.insert(key));
            } else {
                const auto found = all.lower_bound(key);
                const auto expected = model.lower_bound(key);
                ASSERT_EQ(found == all.end(), expected == model.end());
                if (expected != model.end()) {
                    const auto next = all.erase(found);
                    const auto expected_next = model.erase(expected);
                    ASSERT_EQ(next == all.end(), expected_next == model.end());
                    if (expected_next != model.end()) {
                        EXPECT_EQ(*next, *expected_next);
                    }
                }
            }
        }
        expect_equal(all, model);
        EXPECT_TRUE(std::equal(all.rbegin(), all.rend(), model.rbegin(), model.rend()));
    }
    while (!all.empty()) {
        const auto at = static_cast<std::ptrdiff_t>(random() % all.size());
        all.erase(std::next(all.begin(), at));
        model.erase(std::next(model.begin(), at));
        if (all.size() % 64 == 0)
            expect_equal(all, model);
    }
}

TYPED_TEST(btree_of_size, serves_as_queue_and_stack) {
    int_set<TypeParam::value> all;
    for (int i = 0; i < 5000; ++i) {
        all.insert(i);
        if (i % 3 != 0)
            all.erase(all.begin());
    }
    EXPECT_EQ(btree_inspector::fault(all), "");
    EXPECT_EQ(all.size(), 1667U);
    EXPECT_EQ(*all.begin(), 3333);
    for (int i = 0; i < 5000; ++i) {
        all.insert(-i);
        if (i % 3 != 0)
            all.erase(all.begin());
    }
    EXPECT_EQ(btree_inspector::fault(all), "");
    EXPECT_EQ(all.size(), 2U * 1667U);
    while (!all.empty())
        all.erase(std::prev(all.end()));
    EXPECT_EQ(btree_inspector::fault(all), "");
}

TYPED_TEST(btree_of_size, erases_ranges) {
    const std::vector<int> some = numbers(500);
    for (int from = 0; from <= 500; from += 50) {
        for (int to = from; to <= 500; to += 50) {
            int_set<TypeParam::value> all(some.begin(), some.end());
            std::set<int> model(some.begin(), some.end());
            const auto next = all.erase(all.lower_bound(from), all.lower_bound(to));
            model.erase(model.lower_bound(from), model.lower_bound(to));
            expect_equal(all, model);
            EXPECT_TRUE(next == all.lower_bound(to));
        }
    }
}

TEST(btree_bulk, sorted_input_is_packed_and_compared_once) {
    const std::vector<int> some = numbers(10'000);
    counting_less::calls = 0;
    const int_set<0, counting_less> all(rem::sorted_unique, some.begin(), some.end());
    EXPECT_EQ(counting_less::calls, some.size() - 1);
    expect_equal(all, some);
    const auto shape = btree_inspector::shape_of(all);
    constexpr std::size_t capacity = rem::detail::btree_nodes<int, 0>::k_capacity;
    EXPECT_EQ(shape.nodes.front(), some.size() / (capacity + 1) + 1) << "all leaves but the last are full";
}

TEST(btree_bulk, a_sorted_range_takes_two_comparisons_for_each) {
    const std::vector<int> some = numbers(10'000);
    counting_less::calls = 0;
    const int_set<0, counting_less> all(some.begin(), some.end());
    EXPECT_LE(counting_less::calls, 2 * some.size());
    expect_equal(all, some);
}

TEST(btree_bulk, what_is_not_sorted_is_refused) {
    const auto refused = [](auto make) {
        try {
            make();
        } catch (const rem::error& e) {
            EXPECT_NE(std::string_view(e.what()).find("Sort it"), std::string_view::npos);
            return e.reason() == rem::errc::invalid_argument;
        }
        return false;
    };
    const std::vector<int> wrong{1, 3, 2};
    const std::vector<int> twice{1, 2, 2};
    EXPECT_TRUE(refused([&] { (void)int_set<0>(rem::sorted_unique, wrong.begin(), wrong.end()); }));
    EXPECT_TRUE(refused([&] { (void)int_set<0>(rem::sorted_unique, twice.begin(), twice.end()); }));
    EXPECT_TRUE(refused([&] { (void)int_multiset<0>(rem::sorted_equivalent, wrong.begin(), wrong.end()); }));
    const int_multiset<0> fine(rem::sorted_equivalent, twice.begin(), twice.end());
    expect_equal(fine, twice);
}

TEST(btree_hints, that_are_right_take_two_comparisons) {
    int_set<0, counting_less> all;
    for (int i = 0; i < 2000; i += 2)
        all.insert(i);
    counting_less::calls = 0;
    for (int i = 1; i < 2000; i += 2) {
        const auto hint = std::next(all.begin(), i);
        const auto at = all.insert(hint, i);
        EXPECT_EQ(*at, i);
    }
    EXPECT_LE(counting_less::calls, 2000U);
    EXPECT_EQ(btree_inspector::fault(all), "");
    EXPECT_EQ(all.size(), 2000U);
}

TEST(btree_hints, that_are_wrong_do_no_harm) {
    int_set<40> all;
    std::set<int> model;
    std::mt19937 random(rem::test::seed_or(7));
    for (int i = 0; i < 2000; ++i) {
        const int key = static_cast<int>(random() % 1000);
        const auto at = static_cast<std::ptrdiff_t>(random() % (all.size() + 1));
        EXPECT_EQ(*all.insert(std::next(all.cbegin(), at), key), key);
        model.insert(key);
    }
    expect_equal(all, model);
}

TEST(btree_hints, say_where_among_equivalent_ones) {
    using pairs = rem::btree_multimap<int, int, std::less<>, std::allocator<std::pair<const int, int>>, 64>;
    pairs all;
    std::multimap<int, int> model;
    std::mt19937 random(rem::test::seed_or(8));
    for (int i = 0; i < 2000; ++i) {
        const int key = static_cast<int>(random() % 8);
        const auto at = static_cast<std::ptrdiff_t>(random() % (all.size() + 1));
        all.emplace_hint(std::next(all.cbegin(), at), key, i);
        model.emplace_hint(std::next(model.cbegin(), at), key, i);
        if (i % 100 == 0)
            expect_equal(all, model);
    }
    expect_equal(all, model);
}

TEST(btree_nodes, have_the_size_asked_for) {
    using chosen = rem::detail::btree_nodes<std::int64_t, 0>;
    EXPECT_EQ(chosen::leaf_units(chosen::k_capacity) * sizeof(chosen::unit), rem::detail::k_btree_node_bytes);
    using page = rem::detail::btree_nodes<std::int64_t, 4096>;
    EXPECT_EQ(page::leaf_units(page::k_capacity) * sizeof(page::unit), 4096U);
    EXPECT_EQ((rem::detail::btree_nodes<std::int64_t, 1>::k_capacity), 4U);
    using wide = rem::detail::btree_nodes<std::array<std::int64_t, 32>, 0>;
    EXPECT_EQ(wide::k_capacity, rem::detail::k_btree_slots_least);
}

TEST(btree_nodes, of_small_containers_are_small) {
    int_set<0> all{1, 2, 3};
    EXPECT_LE(btree_inspector::shape_of(all).bytes, 64U);
}

TEST(btree_at_another_address, works_with_all_that_it_holds) {
    using moving_test::moving;
    using inner_set = rem::btree_set<int, std::less<>, moving<int>, 64>;
    struct boxed { // too large for a slot
        std::array<char, 300> bytes{};
        int number = 0;
    };
    using value = std::pair<inner_set, boxed>;
    using map_type = rem::btree_map<int, value, std::less<>, moving<std::pair<const int, value>>, 64>;
    using map_of_sets = rem::btree_map<int, inner_set, std::less<>, moving<std::pair<const int, inner_set>>, 200>;
    struct both {
        map_type linked;
        map_of_sets in_slots;
    };
    moving_test::arena memory;
    ::new (memory.allocate(sizeof(both))) both;
    std::map<int, int> model;
    std::mt19937 random(rem::test::seed_or(9));
    for (int round = 0; round < 5; ++round) {
        auto& all = memory.first<both>();
        for (int i = 0; i < 200; ++i) {
            const int key = static_cast<int>(random() % 500);
            if (random() % 3 != 0) {
                value& one = all.linked[key];
                one.second.number = i;
                one.first.insert({i, i + 1, i + 2});
                all.in_slots[key].insert(i);
                model[key] = i;
            } else {
                EXPECT_EQ(all.linked.erase(key), model.erase(key));
                all.in_slots.erase(key);
            }
        }
        memory.move();
        auto& there = memory.first<both>();
        ASSERT_EQ(btree_inspector::fault(there.linked), "");
        ASSERT_EQ(btree_inspector::fault(there.in_slots), "");
        ASSERT_EQ(there.linked.size(), model.size());
        for (const auto& [key, number] : model) {
            const value& one = there.linked.at(key);
            EXPECT_EQ(one.second.number, number);
            EXPECT_TRUE(one.first.contains(number + 2));
            EXPECT_EQ(btree_inspector::fault(one.first), "");
            EXPECT_EQ(btree_inspector::fault(there.in_slots.at(key)), "");
            EXPECT_TRUE(there.in_slots.at(key).contains(number));
        }
    }
}

template <class T>
struct narrow_allocator : std::allocator<T> {
    narrow_allocator() = default;
    template <class U>
    narrow_allocator(const narrow_allocator<U>&) noexcept {} // NOLINT(google-explicit-constructor)
    template <class U>
    struct rebind {
        using other = narrow_allocator<U>;
    };
    [[nodiscard]] std::size_t max_size() const noexcept { return 1000 / sizeof(T); }
};
TEST(btree_allocators, say_how_many_elements_there_can_be) {
    const rem::btree_set<std::uint64_t, std::less<>, narrow_allocator<std::uint64_t>> narrow;
    EXPECT_EQ(narrow.max_size(), 125U);
    EXPECT_EQ(int_set<0>().max_size(), PTRDIFF_MAX / sizeof(int));
}

TEST(btree_map, compares_as_std_map) {
    const text_map all{{"b", "2"}, {"a", "1"}};
    EXPECT_LT(all, (text_map{{"a", "2"}}));
    EXPECT_TRUE(all.value_comp()(*all.begin(), *all.rbegin()));
}

TEST(btree_map, deduces_its_arguments) {
    const rem::btree_set some{3, 1, 2};
    static_assert(std::is_same_v<decltype(some), const rem::btree_set<int>>);
    EXPECT_EQ(*some.begin(), 1);
    const std::map<int, std::string> model{{1, "one"}, {2, "two"}};
    const rem::btree_map copied(model.begin(), model.end());
    static_assert(std::is_same_v<decltype(copied), const rem::btree_map<int, std::string>>);
    expect_equal(copied, model);
}

TEST(btree_ranges, serve_the_algorithms) {
    rem::btree_set<int> all;
    const std::vector<int> some = numbers(1000);
    std::ranges::copy(some, std::inserter(all, all.end()));
    EXPECT_TRUE(std::ranges::is_sorted(all));
    EXPECT_EQ(*std::ranges::find(all, 500), 500);
    EXPECT_EQ(*std::ranges::lower_bound(all, 500), 500);
    EXPECT_EQ(std::ranges::distance(all | std::views::filter([](int i) { return i % 2 == 0; })), 500);
    EXPECT_EQ(*(all | std::views::reverse).begin(), 999);
    EXPECT_EQ(*std::ranges::max_element(all), 999);
    const std::vector<int> taken(all.begin(), all.end());
    EXPECT_EQ(taken, some);
}

TEST(btree_node_handles, carry_elements_to_and_from_containers_of_equivalent_ones) {
    text_map one{{"b", "2"}, {"c", k_long}};
    using multi = rem::btree_multimap<std::string, std::string, std::less<>, text_map::allocator_type>;
    static_assert(std::is_same_v<multi::node_type, text_map::node_type>);
    multi several;
    several.insert(one.extract(one.begin()));
    several.emplace("c", "another");
    several.emplace("c", "third");
    auto refused = one.insert(several.extract("c"));
    EXPECT_FALSE(refused.inserted);
    EXPECT_EQ(refused.position->second, k_long);
    EXPECT_EQ(refused.node.mapped(), "another");
    several.insert(several.begin(), std::move(refused.node));
    EXPECT_EQ(several.size(), 3U);
    one.merge(several);
    EXPECT_EQ(one.size(), 2U);
    EXPECT_EQ(several.size(), 2U) << "those with a key that is there stay";
    several.merge(one);
    EXPECT_TRUE(one.empty());
    EXPECT_EQ(several.size(), 4U);
    several.merge(several);
    EXPECT_EQ(several.size(), 4U);
    EXPECT_EQ(btree_inspector::fault(several), "");
}

TEST(btree_fingerprint, tells_what_nodes_look_like) {
    using rem::detail::fingerprint_of;
    using map_type = rem::btree_map<int, rem::string>;
    const auto& found = fingerprint_of<map_type>();
    EXPECT_EQ(found.name, "rem::btree_map<int, rem::string>");
    EXPECT_TRUE(found.nameable);
    const std::string layout = rem::types::type_description::decode(found.description)->text();
    EXPECT_NE(layout.find("b-tree 2: "), std::string::npos) << layout;
    EXPECT_NE(layout.find("rem::string 40/8"), std::string::npos) << layout;
    using other = rem::btree_map<int, rem::string, std::less<>, map_type::allocator_type, 1024>;
    EXPECT_NE(found.hash, fingerprint_of<other>().hash);
    EXPECT_EQ(fingerprint_of<rem::btree_set<int>>().name, "rem::btree_set<int>");
    EXPECT_EQ((fingerprint_of<rem::btree_multiset<int, std::greater<>>>().name),
              "rem::btree_multiset<int, std::greater<void>>");
    EXPECT_EQ(fingerprint_of<directory>().hash, rem::detail::make_fingerprint<directory>().hash);
}

} // namespace btree_test
