// What B-trees and hash containers have in common; what each has for itself is in btree_test.cpp and hash_test.cpp.

#include <remanence/remanence.hpp>

#include "counting_allocator.hpp"
#include "support/btree_inspector.hpp"
#include "support/hash_inspector.hpp"
#include "support/seed.hpp"
#include "tagged_allocator.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <ranges>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rem = remanence;

namespace own_maps_test {

const std::string k_long = "a text longer than any small buffer";

template <class Key, class Value>
using tagged_pairs = tagged_test::tagged<std::pair<const Key, Value>>;

template <std::size_t NodeBytes>
struct btrees {
    using inspector = rem::detail::btree_inspector;
    template <class Key>
    using set = rem::btree_set<Key>;
    template <class Key, class Value, class Alloc = rem::allocator<std::pair<const Key, Value>>>
    using map = rem::btree_map<Key, Value, std::less<>, Alloc, NodeBytes>;
    using failing_text = tagged_test::string;
    /// Nodes that were split already may stay so; each is of the tree.
    static constexpr bool k_failures_leave_blocks = true;
};
struct hash_tables {
    using inspector = rem::detail::hash_inspector;
    template <class Key>
    using set = rem::hash_set<Key>;
    template <class Key, class Value, class Alloc = rem::allocator<std::pair<const Key, Value>>>
    using map = rem::hash_map<Key, Value, rem::seeded_hash<Key>, std::equal_to<>, Alloc>;
    using failing_text = rem::basic_string_pi<tagged_test::tagged<char>>;
    static constexpr bool k_failures_leave_blocks = false;
};

template <class Kind>
class own_maps : public testing::Test {
protected:
    template <class Container>
    static std::string fault(const Container& container) {
        return Kind::inspector::fault(container);
    }
};
#if defined(REMANENCE_ALL_TESTS)
using kinds = testing::Types<btrees<0>, btrees<1>, hash_tables>;
#else
using kinds = testing::Types<btrees<1>, hash_tables>;
#endif
TYPED_TEST_SUITE(own_maps, kinds);

template <class Kind>
struct directory { // of itself
    typename Kind::template map<int, directory> below;
    int number = 0;
};

struct owner { // takes no part in moves: the copy that stands in for one would be destroyed as well
    int* closed;
    ~owner() { ++*closed; }
};

template <class Kind>
using failing_map = typename Kind::template map<typename Kind::failing_text, typename Kind::failing_text,
                                                tagged_pairs<typename Kind::failing_text, typename Kind::failing_text>>;

TYPED_TEST(own_maps, have_no_effect_without_memory) {
    tagged_test::arena memory;
    {
        tagged_test::current = &memory;
        using map_type = failing_map<TypeParam>;
        using text = typename TypeParam::failing_text;
        map_type all{typename map_type::allocator_type(memory)};
        std::map<std::string, std::string> model;
        std::mt19937 random(rem::test::seed_or(10));
        std::size_t failures = 0;
        for (int i = 0; i < 400; ++i) {
            const std::string key = std::to_string(random() % 1000) + k_long;
            failures += tagged_test::fail_each_allocation(
                memory,
                [&] {
                    if (i % 2 == 0 && !all.contains(std::string_view(key)))
                        all.emplace(key, "value " + k_long);
                    else
                        all.try_emplace(text(key, tagged_test::tagged<char>(tagged_test::elsewhere)),
                                        "value " + k_long);
                },
                [&](std::size_t live) {
                    if (TypeParam::k_failures_leave_blocks) {
                        EXPECT_GE(memory.live, live);
                    } else {
                        EXPECT_EQ(memory.live, live);
                    }
                    EXPECT_EQ(all.size(), model.size());
                    EXPECT_FALSE(all.contains(std::string_view(key)));
                });
            model.try_emplace(key, "value " + k_long);
            ASSERT_EQ(this->fault(all), "");
            if (i % 3 == 0) {
                const auto at = std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % all.size()));
                model.erase(std::string(at->first));
                all.erase(at);
            }
        }
        EXPECT_GT(failures, 400U);
        EXPECT_EQ(all.size(), model.size());
        for (const auto& [key, value] : model)
            EXPECT_EQ(std::string_view(all.find(std::string_view(key))->second), value);
        tagged_test::fail_each_allocation( // a copy either is there or is not
            memory,
            [&] {
                const map_type copy(all); // NOLINT(performance-unnecessary-copy-initialization): it is tried
                EXPECT_TRUE(copy == all);
            },
            [&](std::size_t live) { EXPECT_EQ(memory.live, live); });
    }
    EXPECT_EQ(memory.live, 0U);
    tagged_test::current = &tagged_test::elsewhere;
}

TYPED_TEST(own_maps, of_other_allocators_have_elements_moved_one_by_one) {
    tagged_test::arena one;
    tagged_test::arena other;
    {
        using map_type = failing_map<TypeParam>;
        map_type from{typename map_type::allocator_type(one)};
        for (int i = 0; i < 100; ++i)
            from.emplace(std::to_string(i) + k_long, k_long);
        map_type to{typename map_type::allocator_type(other)};
        to.emplace("gone", "");
        to = std::move(from);
        EXPECT_TRUE(from.empty()); // NOLINT(bugprone-use-after-move): that is what is tested
        EXPECT_EQ(to.size(), 100U);
        EXPECT_EQ(one.live, 0U);
        EXPECT_EQ(this->fault(to), "");
        for (const auto& [key, value] : to) {
            EXPECT_EQ(key.get_allocator().where, &other);
            EXPECT_EQ(value.get_allocator().where, &other);
        }
        const map_type third(std::move(to), typename map_type::allocator_type(other));
        EXPECT_EQ(third.size(), 100U);
    }
    EXPECT_EQ(other.live, 0U);
}

TYPED_TEST(own_maps, have_the_interface_of_the_standards_maps) {
    using text_map = typename TypeParam::template map<std::string, std::string,
                                                      std::allocator<std::pair<const std::string, std::string>>>;
    text_map all{{"b", "2"}, {"a", "1"}};
    EXPECT_EQ(all["a"], "1");
    all["c"] = "3";
    EXPECT_EQ(all.at("c"), "3");
    EXPECT_THROW((void)all.at("d"), std::out_of_range);
    EXPECT_FALSE(all.try_emplace("a", "x").second);
    EXPECT_FALSE(all.insert_or_assign("a", "y").second);
    EXPECT_EQ(all.at("a"), "y");
    EXPECT_EQ(all.insert_or_assign(all.end(), "z", "26")->second, "26");
    EXPECT_EQ(all.try_emplace(all.begin(), "z", "27")->second, "26");
    EXPECT_TRUE(all.insert(std::pair("e", "5")).second);
    EXPECT_EQ(all.insert(all.end(), std::pair("f", "6"))->first, "f");
    EXPECT_EQ(all.emplace_hint(all.end(), "f", "7")->second, "6");
    EXPECT_EQ(all.count("f"), 1U);
    EXPECT_EQ(all.erase("f"), 1U);
    EXPECT_EQ(all.erase("f"), 0U);
    EXPECT_TRUE(all.contains(std::string_view("e")));
    const auto [first, last] = all.equal_range(std::string_view("b"));
    EXPECT_EQ(std::distance(first, last), 1);
    EXPECT_EQ(erase_if(all, [](const auto& each) { return each.first > "b"; }), 3U);
    EXPECT_EQ(all, (text_map{{"b", "2"}, {"a", "y"}}));
    EXPECT_NE(all, (text_map{{"b", "2"}, {"a", "z"}}));
    EXPECT_NE(all, (text_map{{"b", "2"}, {"c", "y"}}));
    text_map other;
    swap(all, other);
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(other.size(), 2U);
    other = {{"q", "r"}};
    EXPECT_EQ(other.begin()->second, "r");
    all = other;
    EXPECT_EQ(all, other);
    all[std::string(all.begin()->first)] = all.at("q"); // its own element
    EXPECT_EQ(this->fault(all) + this->fault(other), "");
}

// Memory of one heap never ends up owned by another: each arena counts its own.
TYPED_TEST(own_maps, exchange_values_between_allocators) {
    using text = tagged_test::string;
    using text_map = typename TypeParam::template map<int, text, tagged_pairs<int, text>>;
    tagged_test::arena here;
    tagged_test::arena there;
    const std::size_t elsewhere = tagged_test::elsewhere.live;
    {
        text_map a{tagged_pairs<int, text>(here)};
        text_map b{tagged_pairs<int, text>(there)};
        for (int i = 0; i < 100; ++i)
            a.try_emplace(i, k_long);
        for (int i = 90; i < 110; ++i)
            b.try_emplace(i, "other " + std::to_string(i));
        const auto are_apart = [&] {
            for (const auto& [map, memory] : {std::pair(&a, &here), std::pair(&b, &there)}) {
                EXPECT_EQ(map->get_allocator().where, memory);
                for (const auto& each : *map)
                    EXPECT_EQ(each.second.get_allocator().where, memory);
            }
            EXPECT_EQ(this->fault(a) + this->fault(b), "");
        };
        swap(a, b);
        EXPECT_EQ(a.size(), 20U);
        EXPECT_EQ(b.size(), 100U);
        EXPECT_EQ(std::string_view(b.at(7)), k_long);
        are_apart();
        std::size_t failures = 0;
        for (bool done = false; !done; ++failures) { // a swap that lacks memory has no effect
            there.fail_after = failures;
            try {
                swap(a, b);
                done = true;
            } catch (const std::bad_alloc&) {
                EXPECT_EQ(a.size() + 1000 * b.size(), 100020U);
                are_apart();
            }
            there.fail_after = ~std::size_t{0};
        }
        EXPECT_GT(failures, 1U);
        EXPECT_EQ(a.size() + 1000 * b.size(), 20100U);
        a.merge(b); // all but ten
        EXPECT_EQ(a.size() + 1000 * b.size(), 10110U);
        EXPECT_EQ(std::string_view(a.at(109)), "other 109");
        EXPECT_EQ(std::string_view(a.at(95)), k_long);
        EXPECT_EQ(std::string_view(b.at(95)), "other 95");
        are_apart();
        a.erase(95);
        EXPECT_TRUE(a.insert(b.extract(95)).inserted);
        EXPECT_FALSE(a.insert(b.extract(96)).inserted);
        EXPECT_EQ(std::string_view(a.at(95)), "other 95");
        are_apart();
    }
    EXPECT_EQ(here.live, 0U);
    EXPECT_EQ(there.live, 0U);
    EXPECT_EQ(tagged_test::elsewhere.live, elsewhere);
}

TYPED_TEST(own_maps, keep_an_element_whole_that_another_allocator_has_no_memory_for) {
    using numbers = tagged_test::vector<int>; // empty once it has been moved there
    using map = typename TypeParam::template map<int, numbers, tagged_pairs<int, numbers>>;
    tagged_test::arena here;
    tagged_test::arena there;
    map a{tagged_pairs<int, numbers>(here)};
    map b{tagged_pairs<int, numbers>(there)};
    for (int i = 0; i < 300; ++i)
        a.try_emplace(i, 3U, i);
    const auto are_whole = [&] {
        for (const map* const each : {&a, &b}) {
            for (const auto& [number, stored] : *each)
                EXPECT_EQ(stored.size(), 3U) << number;
        }
        EXPECT_EQ(a.size() + b.size(), 300U);
        EXPECT_EQ(this->fault(a) + this->fault(b), "");
    };
    std::size_t failures = 0;
    for (bool done = false; !done; ++failures) {
        there.fail_after = failures % 20; // so that it goes on from where it was
        try {
            b.merge(a);
            done = true;
        } catch (const std::bad_alloc&) {
            are_whole();
        }
        there.fail_after = failures % 20;
        if (auto one = a.extract(static_cast<int>(failures % 300)); !one.empty()) {
            try {
                b.insert(std::move(one));
            } catch (const std::bad_alloc&) {
                EXPECT_EQ(one.mapped().size(), 3U);
                a.insert(std::move(one));
            }
        }
        there.fail_after = ~std::size_t{0};
    }
    EXPECT_GT(failures, 20U);
    are_whole();
    EXPECT_TRUE(a.empty());
}

TYPED_TEST(own_maps, of_containers_whose_elements_cannot_be_copied_are_swapped_and_merged) {
    using owners = rem::vector<std::unique_ptr<int>>;
    typename TypeParam::template map<int, owners> a;
    typename TypeParam::template map<int, owners> b;
    a[1].push_back(std::make_unique<int>(3));
    swap(a, b);
    EXPECT_EQ(*b.at(1).front(), 3);
    a.merge(b);
    EXPECT_EQ(*a.at(1).front(), 3);
}

TYPED_TEST(own_maps, refuse_to_take_what_cannot_move_from_another_allocator) {
    using counters = typename TypeParam::template map<int, std::atomic<int>, tagged_pairs<int, std::atomic<int>>>;
    tagged_test::arena here;
    tagged_test::arena there;
    counters a{tagged_pairs<int, std::atomic<int>>(here)};
    counters b{tagged_pairs<int, std::atomic<int>>(there)};
    a[1] = 1;
    b[2] = 2;
    EXPECT_THROW(swap(a, b), std::invalid_argument);
    EXPECT_THROW(a.merge(b), std::invalid_argument);
    EXPECT_EQ(a.at(1), 1);
    EXPECT_EQ(b.at(2), 2);
}

TYPED_TEST(own_maps, take_types_that_cannot_move) {
    typename TypeParam::template map<int, std::atomic<int>> counters;
    for (int i = 0; i < 1000; ++i)
        counters[i * 7 % 1000] = i;
    EXPECT_EQ(counters.at(7), 1);
    EXPECT_EQ(this->fault(counters), "");
    typename TypeParam::template set<std::unique_ptr<int>> owners;
    owners.insert(std::make_unique<int>(3));
    owners.insert(std::make_unique<int>(4));
    EXPECT_EQ(owners.size(), 2U);
    EXPECT_NE(*owners.extract(owners.begin()).value(), 0);
    typename TypeParam::template map<int, std::list<int>> lists;
    for (int i = 0; i < 1000; ++i)
        lists[i * 7 % 1000].push_back(i);
    EXPECT_EQ(lists.at(7), std::list<int>{1});
    directory<TypeParam> root;
    root.below[1].below[2].number = 3;
    const directory<TypeParam> moved = std::move(root);
    EXPECT_EQ(moved.below.at(1).below.at(2).number, 3);
}

TYPED_TEST(own_maps, never_copy_what_a_destructor_of_its_own_owns) {
    int closed = 0;
    {
        typename TypeParam::template map<int, owner> owners;
        for (int i = 0; i < 1000; ++i)
            owners.try_emplace(i * 7 % 1000, &closed);
        EXPECT_EQ(closed, 0);
        owners.erase(500);
        EXPECT_EQ(closed, 1);
    }
    EXPECT_EQ(closed, 1000);
}

TYPED_TEST(own_maps, hand_elements_over_by_node_handles) {
    using text_map = typename TypeParam::template map<std::string, std::string,
                                                      std::allocator<std::pair<const std::string, std::string>>>;
    text_map one{{"a", "1"}, {"b", "2"}};
    auto handle = one.extract("a");
    EXPECT_EQ(handle.key(), "a");
    handle.key() = "c";
    handle.mapped() = k_long;
    const auto inserted = one.insert(std::move(handle));
    EXPECT_TRUE(inserted.inserted);
    EXPECT_EQ(inserted.position->second, k_long);
    EXPECT_TRUE(one.extract("nothing").empty());
    text_map other{{"c", "another"}, {"d", "4"}};
    auto refused = one.insert(other.extract("c"));
    EXPECT_FALSE(refused.inserted);
    EXPECT_EQ(refused.position->second, k_long);
    EXPECT_EQ(refused.node.mapped(), "another");
    other.insert(other.begin(), std::move(refused.node));
    one.merge(other);
    EXPECT_EQ(one.size(), 3U);
    EXPECT_EQ(other.size(), 1U) << "the one with a key that is there stays";
    other.merge(one);
    EXPECT_EQ(one.size(), 1U);
    EXPECT_EQ(other.size(), 3U);
    other.merge(other);
    EXPECT_EQ(other.size(), 3U);
    EXPECT_EQ(this->fault(one) + this->fault(other), "");
}

// Ranges, as in C++23.

TYPED_TEST(own_maps, are_made_of_ranges) {
    using numbers = typename TypeParam::template map<int, std::string>;
    const std::map<int, std::string> model{{1, "one"}, {2, k_long}, {3, "three"}};
    numbers all(rem::from_range, model);
    EXPECT_EQ(this->fault(all), "");
    EXPECT_EQ((std::map<int, std::string>(all.begin(), all.end())), model);
    all.insert_range(std::views::iota(3, 1000) |
                     std::views::transform([](int i) { return std::pair(i, std::to_string(i)); }));
    EXPECT_EQ(this->fault(all), "");
    EXPECT_EQ(all.size(), 999U);
    EXPECT_EQ(all.at(3), "three");
    EXPECT_EQ(all.at(999), "999");

    std::istringstream in("5 3 5 1");
    typename TypeParam::template set<int> read(rem::from_range, std::views::istream<int>(in)); // can be read once
    EXPECT_EQ((std::set<int>(read.begin(), read.end())), (std::set<int>{1, 3, 5}));
    read.insert_range(std::views::iota(0) | std::views::take_while([](int i) { return i != 10; }));
    EXPECT_EQ(read.size(), 10U);

    std::vector<std::pair<int, std::unique_ptr<int>>> owners;
    owners.emplace_back(1, std::make_unique<int>(2));
    typename TypeParam::template map<int, std::unique_ptr<int>> moved;
    moved.insert_range(std::ranges::subrange(std::move_iterator(owners.begin()), std::move_iterator(owners.end())));
    EXPECT_EQ(*moved.at(1), 2);
}

// Keys of other types.

TYPED_TEST(own_maps, erase_and_extract_by_any_kind_of_string) {
    typename TypeParam::template map<rem::string_pi, int, rem::allocator<std::pair<const rem::string_pi, int>>> all;
    for (int i = 0; i < 100; ++i)
        all.emplace(rem::string_pi(std::to_string(i)), i);
    EXPECT_EQ(all.erase("5"), 1U);
    EXPECT_EQ(all.erase("5"), 0U);
    EXPECT_EQ(all.erase(std::string_view("99")), 1U);
    std::string name = "7";
    EXPECT_EQ(all.erase(name), 1U);
    EXPECT_TRUE(all.extract(name).empty());
    auto one = all.extract(std::string_view("8"));
    EXPECT_EQ(one.mapped(), 8);
    EXPECT_FALSE(all.contains("8"));
    auto found = all.find("9");
    all.erase(found); // an iterator is no key
    EXPECT_EQ(all.size(), 95U);
    EXPECT_EQ(this->fault(all), "");
    EXPECT_EQ(all.erase(all.begin()->first), 1U); // a reference into the element itself
}

// Allocators that are told of each element.

/// Elements that are in a container at the end of each step are those that were constructed and not destroyed.
template <class Map>
void expect_constructions_and_destructions_to_balance() {
    counting_test::counts all;
    counting_test::counts elsewhere;
    {
        using alloc = typename Map::allocator_type;
        Map one{alloc(all)};
        const auto expect_balance = [&](std::size_t more = 0) {
            ASSERT_EQ(all.constructed, static_cast<int>(one.size() + more));
        };
        for (int i = 0; i < 1000; ++i)
            one.emplace(i, i);
        one.insert({5, 5});
        one.emplace(6, 6);
        one.try_emplace(7, 7);
        one.insert_or_assign(1'000, 8);
        expect_balance();
        for (int i = 0; i < 500; ++i)
            one.erase(i * 2);
        one.erase(one.begin());
        expect_balance();
        one.extract(one.begin());
        expect_balance();
        auto handle = one.extract(one.begin());
        expect_balance(1);
        one.insert(std::move(handle));
        expect_balance();
        Map copied(one, alloc(all));
        expect_balance(copied.size());
        copied = one;
        Map moved(std::move(copied));
        expect_balance(moved.size());
        moved.erase(std::next(moved.begin()), moved.end());
        expect_balance(1);
        one.merge(moved);
        moved.clear();
        expect_balance();
        {
            Map there(std::move(one), alloc(elsewhere)); // made anew
            ASSERT_EQ(elsewhere.constructed, static_cast<int>(there.size()));
            ASSERT_GT(there.size(), 400U);
            one.clear(); // NOLINT(bugprone-use-after-move): it is valid
            expect_balance();
            one.merge(there);
            ASSERT_EQ(elsewhere.constructed, 0);
            expect_balance();
            there.insert(one.extract(one.begin()));
            expect_balance();
        }
        ASSERT_EQ(elsewhere.constructed, 0);
    }
    EXPECT_EQ(all.constructed, 0);
}
struct with_destructor {
    with_destructor(int value) noexcept : number(value) {} // NOLINT(google-explicit-constructor)
    with_destructor(const with_destructor&) = default;
    with_destructor& operator=(const with_destructor&) = default;
    ~with_destructor() { number = -1; }
    int number;
};
struct large {
    large(int value) noexcept : numbers{value} {} // NOLINT(google-explicit-constructor)
    int numbers[100];
};
TYPED_TEST(own_maps, tell_allocators_of_as_many_destructions_as_constructions) {
    const auto check = []<class Value>(std::type_identity<Value>) {
        expect_constructions_and_destructions_to_balance<
            typename TypeParam::template map<int, Value, counting_test::counting<std::pair<const int, Value>>>>();
    };
    check(std::type_identity<int>());
    check(std::type_identity<large>()); // lies in a block of its own
    check(std::type_identity<with_destructor>());
}

} // namespace own_maps_test
