#include <remanence/containers/standard.hpp>

#include "tagged_allocator.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace rem = remanence;

namespace containers_test {

using namespace std::string_view_literals;

const std::string k_key = "a key longer than any small buffer";

template <class Container, class Value>
inline constexpr bool has_our_allocator_v = std::is_same_v<typename Container::allocator_type, rem::allocator<Value>>;
static_assert(has_our_allocator_v<rem::string, char>);
static_assert(has_our_allocator_v<rem::vector<int>, int>);
static_assert(has_our_allocator_v<rem::deque<int>, int>);
static_assert(has_our_allocator_v<rem::list<int>, int>);
static_assert(has_our_allocator_v<rem::forward_list<int>, int>);
static_assert(has_our_allocator_v<rem::set<int>, int>);
static_assert(has_our_allocator_v<rem::multiset<int>, int>);
static_assert(has_our_allocator_v<rem::map<int, long>, std::pair<const int, long>>);
static_assert(has_our_allocator_v<rem::multimap<int, long>, std::pair<const int, long>>);
static_assert(has_our_allocator_v<rem::unordered_set<int>, int>);
static_assert(has_our_allocator_v<rem::unordered_multiset<int>, int>);
static_assert(has_our_allocator_v<rem::unordered_map<int, long>, std::pair<const int, long>>);
static_assert(has_our_allocator_v<rem::unordered_multimap<int, long>, std::pair<const int, long>>);
static_assert(requires { typename rem::map<rem::string, int>::key_compare::is_transparent; });
static_assert(requires { typename rem::unordered_map<rem::string, int>::hasher::is_transparent; });

TEST(string, compares_with_every_kind_of_string) {
    const rem::string text(k_key);
    EXPECT_EQ(text, k_key);
    EXPECT_EQ(k_key, text);
    EXPECT_EQ(text, std::string_view(k_key));
    EXPECT_EQ(text, k_key.c_str());
    EXPECT_EQ(text, rem::string(text));
    EXPECT_NE(text, std::string("another"));
    EXPECT_LT(text, std::string("b"));
    EXPECT_GT(std::string("b"), text);
    EXPECT_LT(text, "b"sv);
    EXPECT_LT(text, rem::string("b"));
}

TEST(string, converts_from_and_to_std_string) {
    rem::string text(k_key);
    const std::string back(text);
    EXPECT_EQ(back, k_key);
    text = std::string("another");
    EXPECT_EQ(text, "another");
    std::ostringstream out;
    out << text;
    EXPECT_EQ(out.str(), "another");
}

TEST(hash, is_the_same_for_every_kind_of_string) {
    const rem::hash<rem::string> hash;
    const std::size_t expected = std::hash<std::string_view>()(k_key);
    EXPECT_EQ(hash(rem::string(k_key)), expected);
    EXPECT_EQ(hash(k_key), expected);
    EXPECT_EQ(hash(std::string_view(k_key)), expected);
    EXPECT_EQ(hash(static_cast<const char*>(k_key.c_str())), expected);
    EXPECT_EQ(std::hash<rem::string>()(rem::string(k_key)), expected);
    EXPECT_EQ(rem::hash<std::string>()(k_key), expected);
    EXPECT_EQ(rem::hash<int>()(5), std::hash<int>()(5));
}

TEST(hash, serves_plain_std_containers) {
    std::unordered_map<rem::string, int> numbers;
    numbers[rem::string(k_key)] = 3;
    EXPECT_EQ(numbers.at(rem::string(k_key)), 3);
}

template <class Map>
void expect_every_kind_of_look_up(Map& map) {
    map.emplace(k_key, 3);
    EXPECT_EQ(map.find(k_key)->second, 3);
    EXPECT_EQ(map.find(std::string_view(k_key))->second, 3);
    EXPECT_EQ(map.find(k_key.c_str())->second, 3);
    EXPECT_EQ(map.find(rem::string(k_key))->second, 3);
    EXPECT_EQ(map.count("not there"sv), 0U);
    EXPECT_TRUE(map.contains(k_key));
    EXPECT_EQ(map.equal_range(k_key).first->second, 3);
}

TEST(containers, are_searched_by_every_kind_of_string) {
    rem::map<rem::string, int> ordered;
    expect_every_kind_of_look_up(ordered);
    EXPECT_EQ(ordered.lower_bound(k_key)->second, 3);
    rem::multimap<rem::string, int> ordered_multi;
    expect_every_kind_of_look_up(ordered_multi);
    rem::unordered_map<rem::string, int> unordered;
    expect_every_kind_of_look_up(unordered);
    rem::unordered_multimap<rem::string, int> unordered_multi;
    expect_every_kind_of_look_up(unordered_multi);
}

// The aliases' comparison and hash over an allocator that counts.
using tagged_test::elsewhere;
template <class Key>
using counted_set = std::set<Key, rem::set<int>::key_compare, tagged_test::tagged<Key>>;
template <class Key>
using counted_unordered_set =
    std::unordered_set<Key, rem::hash<Key>, rem::unordered_set<int>::key_equal, tagged_test::tagged<Key>>;

template <class Set>
void expect_no_allocation_by_look_up() {
    elsewhere = tagged_test::arena();
    tagged_test::arena memory;
    {
        Set set{tagged_test::tagged<std::byte>(memory)};
        for (int i = 0; i < 100; ++i)
            set.emplace(k_key + std::to_string(i));
        const std::size_t before = memory.allocations;
        const std::string key = k_key + "50";
        EXPECT_TRUE(set.contains(std::string_view(key)));
        EXPECT_TRUE(set.contains(key.c_str()));
        EXPECT_EQ(set.count("not there, though long enough"sv), 0U);
        EXPECT_EQ(*set.equal_range(std::string_view(key)).first, std::string_view(key));
        EXPECT_EQ(memory.allocations, before);
        EXPECT_EQ(elsewhere.allocations, 0U);
        EXPECT_TRUE(set.contains(tagged_test::string(key))) << "this one does allocate, elsewhere";
        EXPECT_EQ(elsewhere.allocations, 1U);
    }
    EXPECT_EQ(memory.live, 0U);
}

TEST(containers, look_up_by_string_view_allocates_nothing) {
    expect_no_allocation_by_look_up<counted_set<tagged_test::string>>();
    expect_no_allocation_by_look_up<counted_unordered_set<tagged_test::string>>();
}

TEST(containers, nest) {
    struct address {
        rem::string street, city;
    };
    rem::map<rem::string, rem::map<rem::string, address>> places;
    places["a city with a long name"]["a street with a long name"] = address{"1", "2"};
    rem::unordered_map<rem::string, rem::vector<rem::string>> lists;
    lists["a list with a long name"].push_back("an element with a long name");
    lists.try_emplace("another list with a long name", 3U, "the same element thrice");
    EXPECT_EQ(lists.at("another list with a long name").at(2), "the same element thrice");
    EXPECT_EQ(places.begin()->second.begin()->second.city, "2");
}

} // namespace containers_test
