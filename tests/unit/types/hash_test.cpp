// The hash containers by themselves; tests/conformance compares them with the standard's.

#include <remanence/remanence.hpp>

#include "moving_arena.hpp"
#include "support/hash_inspector.hpp"
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
#include <new>
#include <random>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rem = remanence;
using rem::detail::hash_inspector;

namespace hash_test {

const std::string k_long = "a text longer than any small buffer";

template <class Key, class Hash = rem::seeded_hash<Key>>
using set = rem::hash_set<Key, Hash, std::equal_to<>, std::allocator<Key>>;
template <class Key, class Value, class Hash = rem::seeded_hash<Key>,
          class Alloc = std::allocator<std::pair<const Key, Value>>>
using map = rem::hash_map<Key, Value, Hash, std::equal_to<>, Alloc>;
using text_map = map<std::string, std::string>;

static_assert(std::ranges::forward_range<rem::hash_set<int>>);
static_assert(std::ranges::forward_range<const rem::hash_map<int, rem::string>>);
static_assert(std::is_convertible_v<text_map::iterator, text_map::const_iterator>);
static_assert(!std::is_convertible_v<text_map::const_iterator, text_map::iterator>);
static_assert(std::is_same_v<decltype(*std::declval<rem::hash_set<int>&>().begin()), const int&>);
static_assert(std::is_nothrow_move_constructible_v<rem::hash_map<int, rem::string>>);
static_assert(sizeof(rem::hash_map<int, rem::string>) == 48);
static_assert(std::is_same_v<rem::hash_map<int, long>::allocator_type, rem::allocator<std::pair<const int, long>>>);
static_assert(rem::detail::is_self_contained<rem::hash_map<int, std::list<int>>>());
static_assert(rem::is_position_independent_v<rem::hash_map<rem::string_pi, rem::hash_set<int>>>);
static_assert(!rem::is_position_independent_v<rem::hash_map<rem::string_pi, rem::string>>);
static_assert(!rem::is_position_independent_v<rem::hash_set<int*>>);

struct directory { // of itself
    rem::hash_map<int, directory> below;
    int number = 0;
};
struct owner { // takes no part in moves
    int* closed;
    ~owner() { ++*closed; }
};
static_assert(rem::detail::hash_block<std::pair<const int, rem::string>>::slot::k_is_inline);
static_assert(!rem::detail::hash_block<std::pair<const int, owner>>::slot::k_is_inline);
static_assert(!rem::detail::hash_block<std::array<char, 129>>::slot::k_is_inline);

template <class Container, class Model>
void expect_equal(const Container& container, const Model& model) {
    ASSERT_EQ(hash_inspector::fault(container), "");
    ASSERT_EQ(container.size(), model.size());
    for (const auto& each : model)
        ASSERT_TRUE(container.contains(each));
}

/// Few values, weak ones, and the default.
struct poor {
    std::size_t operator()(int key) const noexcept { return static_cast<std::size_t>(key) % 5; }
};
template <class Hash>
class hash_tables : public testing::Test {};
using hashes = testing::Types<rem::seeded_hash<int>, std::hash<int>, poor>;
TYPED_TEST_SUITE(hash_tables, hashes);

TYPED_TEST(hash_tables, hold_what_a_std_set_holds) {
    std::mt19937 random(rem::test::random_seed());
    set<int, TypeParam> all;
    std::unordered_set<int> model;
    for (int round = 0; round < 40; ++round) {
        const int range = round % 4 == 0 ? 50 : 5'000;
        const bool grows = round % 5 < 3;
        for (int i = 0; i < 100; ++i) {
            const int key = static_cast<int>(random()) % range;
            if (random() % 4 != 0 ? grows : !grows) {
                EXPECT_EQ(all.insert(key).second, model.insert(key).second);
            } else if (random() % 2 == 0) {
                EXPECT_EQ(all.erase(key), model.erase(key));
            } else if (!all.empty()) {
                model.erase(*all.begin());
                all.erase(all.begin());
            }
        }
        expect_equal(all, model);
        if (round % 10 == 7)
            all.rehash(0);
        expect_equal(all, model);
    }
    while (!all.empty()) {
        model.erase(*all.begin());
        all.erase(all.begin());
        if (all.size() % 64 == 0)
            expect_equal(all, model);
    }
}

TEST(hash_tables_of_one_size, do_not_grow_with_what_passes_through) {
    set<int> all;
    std::size_t lost_most = 0;
    for (int i = 0; i < 200'000; ++i) {
        all.insert(i);
        if (i >= 1000) {
            EXPECT_EQ(all.erase(i - 1000), 1U);
        }
        if (i % 1000 == 0)
            lost_most = std::max(lost_most, hash_inspector::lost_in(all));
    }
    EXPECT_EQ(hash_inspector::fault(all), "");
    EXPECT_LE(all.bucket_count(), 2048U);
    EXPECT_GT(lost_most, 0U) << "else this does not try what it means to";
}

TEST(hash_tables_of_one_size, keep_elements_in_place_until_they_grow) {
    map<int, int> all;
    all.reserve(1000);
    const std::size_t slots = all.bucket_count();
    EXPECT_EQ(slots, 2048U);
    all[0] = 7;
    const int* const there = &all.at(0);
    for (int i = 1; i < 1000; ++i) {
        all[i] = i;
        if (i % 3 == 0)
            all.erase(i - 1);
    }
    EXPECT_EQ(all.bucket_count(), slots);
    EXPECT_EQ(&all.at(0), there);
    EXPECT_EQ(*there, 7);
    all.rehash(0);
    EXPECT_EQ(all.bucket_count(), 1024U);
    EXPECT_LE(all.load_factor(), all.max_load_factor());
    all.clear();
    EXPECT_EQ(all.bucket_count(), 0U);
    EXPECT_THROW(all.reserve(~std::size_t{0}), std::length_error);
    EXPECT_EQ(hash_inspector::fault(all), "");
}

TEST(hash_tables_of_one_size, have_the_room_that_was_reserved_also_after_erasures) {
    set<int> all;
    for (int i = 0; i < 2'000 || hash_inspector::lost_in(all) == 0; ++i) {
        all.insert(i);
        if (i >= 600)
            all.erase(i - 600);
    }
    ASSERT_EQ(all.bucket_count(), 1024U);
    const int last = *all.begin();
    all.reserve(832);
    EXPECT_EQ(hash_inspector::lost_in(all), 0U);
    EXPECT_EQ(all.bucket_count(), 1024U);
    EXPECT_TRUE(all.contains(last));
    const int* const there = &*all.begin();
    for (int i = 0; all.size() < 832; ++i)
        all.insert(-1 - i);
    EXPECT_EQ(&*all.find(*there), there);
    EXPECT_EQ(all.bucket_count(), 1024U);
    all.erase(-1);
    all.erase(-2);
    for (std::size_t buckets = 1; buckets < 100; ++buckets) {
        rem::hash_set<std::uint64_t> none;
        none.rehash(buckets);
        EXPECT_GE(none.bucket_count(), buckets);
    }
    all.rehash(1024);
    EXPECT_EQ(hash_inspector::lost_in(all), 0U);
    EXPECT_EQ(hash_inspector::fault(all), "");
}

TEST(hash_tables_of_one_size, take_little_when_small) {
    tagged_test::arena memory;
    using map_type =
        rem::hash_map<int, int, rem::seeded_hash<int>, std::equal_to<>, tagged_test::tagged<std::pair<const int, int>>>;
    map_type all{map_type::allocator_type(memory)};
    EXPECT_EQ(all.find(1), all.end());
    EXPECT_EQ(all.begin(), all.end());
    EXPECT_EQ(memory.allocations, 0U);
    all[1] = all[2] = all[3] = 1;
    EXPECT_EQ(all.bucket_count(), 4U);
    EXPECT_EQ(memory.allocations, 1U);
}

TEST(hash_iterations, may_erase_as_they_go) {
    set<int> all;
    for (int i = 0; i < 1000; ++i)
        all.insert(i);
    std::vector<int> met;
    for (auto each = all.begin(); each != all.end();) {
        met.push_back(*each);
        each = *each % 2 == 0 ? all.erase(each) : std::next(each);
    }
    std::ranges::sort(met);
    EXPECT_EQ(met.size(), 1000U);
    EXPECT_EQ(std::ranges::adjacent_find(met), met.end());
    EXPECT_EQ(all.size(), 500U);
    auto from = std::next(all.begin(), 100);
    const auto to = std::next(from, 200);
    EXPECT_EQ(all.erase(from, to), to);
    EXPECT_EQ(all.size(), 300U);
    EXPECT_EQ(erase_if(all, [](int each) { return each % 3 == 0; }) + all.size(), 300U);
    EXPECT_EQ(hash_inspector::fault(all), "");
}

TEST(hash_iterations, go_the_same_way_from_wherever_they_begin) {
    for (const int size : {0, 1, 3, 12, 13, 26, 27, 52, 53, 200, 1000}) {
        set<int> all;
        for (int i = 0; i < 2 * size; ++i)
            all.insert(i);
        for (int i = size; i < 2 * size; ++i) // gaps, and whole groups of them
            all.erase(i);
        const std::vector<int> expected(all.begin(), all.end());
        ASSERT_EQ(expected.size(), static_cast<std::size_t>(size));
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const std::vector<int> met(all.find(expected[i]), all.end());
            ASSERT_TRUE(std::ranges::equal(met, std::span(expected).subspan(i))) << size << ", " << i;
        }
    }
}

// Tables that are more than what is in a processor's cache; dense ones and, after erasures, sparse ones.
TEST(hash_iterations, over_large_tables_meet_each_element_once) {
    using large = std::array<std::uint64_t, 12>;
    map<std::uint64_t, large> all;
    std::mt19937_64 random(rem::test::seed_or(1));
    while (all.size() != 20'000)
        all[random() % 1'000'000][0] = 1;
    for (const std::size_t left : {20'000U, 19'000U, 9'000U, 2'000U, 10U, 1U, 0U}) {
        while (all.size() != left)
            all.erase(std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % 3 % all.size())));
        std::set<std::uint64_t> met;
        for (const auto& [key, value] : all)
            ASSERT_TRUE(value[0] == 1 && met.insert(key).second);
        ASSERT_EQ(met.size(), left);
    }
    for (std::uint64_t key = 0; key != 20'000; ++key)
        all[key][0] = key;
    for (auto each = all.begin(); each != all.end();)
        each = each->first % 3 == 0 ? std::next(each) : all.erase(each);
    EXPECT_EQ(all.size(), 6'667U);
    EXPECT_EQ(std::ranges::count_if(all, [](const auto& each) { return each.second[0] % 3 == 0; }), 6'667);
    EXPECT_EQ(hash_inspector::fault(all), "");
}

TEST(hash_iterations, that_have_not_begun_meet_what_is_inserted) {
    set<int> all;
    all.reserve(100);
    for (int i = 0; i < 100; ++i) {
        const auto before = all.begin();
        const auto end = all.end();
        const auto inserted = all.insert(i).first;
        if (i != 0 && before == all.begin()) {
            ASSERT_EQ(std::distance(before, end), i + 1);
            ASSERT_NE(std::find(before, end, *inserted), end);
        }
    }
}

TEST(hash_iterations, pass_over_what_is_erased_meanwhile) {
    std::mt19937 random(rem::test::random_seed());
    for (const int size : {3, 10, 1000}) {
        set<int> all;
        for (int i = 0; i < size; ++i)
            all.insert(i);
        std::unordered_set<int> expected(all.begin(), all.end());
        for (auto each = all.begin(); each != all.end(); ++each) {
            ASSERT_EQ(expected.erase(*each), 1U);
            for (int i = 0; i < 3; ++i) {
                const int other = static_cast<int>(random() % static_cast<unsigned>(size));
                if (other != *each) {
                    all.erase(other);
                    expected.erase(other);
                }
            }
        }
        EXPECT_TRUE(expected.empty());
    }
}

TEST(hash_overflows, are_needed_to_find_what_had_no_room) {
    set<int> all;
    int next = 0;
    while (hash_inspector::overflow_of(all) == nullptr)
        all.insert(next++);
    EXPECT_EQ(hash_inspector::fault(all), "");
    unsigned char* const overflow = hash_inspector::overflow_of(all);
    const unsigned char kept = std::exchange(*overflow, static_cast<unsigned char>(0));
    EXPECT_EQ(std::ranges::count_if(std::views::iota(0, next), [&](int each) { return !all.contains(each); }), 1);
    EXPECT_NE(hash_inspector::fault(all).find("a look-up would not find"), std::string::npos);
    *overflow = kept;
    EXPECT_EQ(hash_inspector::fault(all), "");
}

TEST(hash_groups, are_the_same_without_vector_instructions) {
    std::mt19937 random(rem::test::seed_or(12));
    std::array<unsigned char, 16> bytes{};
    for (int i = 0; i < 10'000; ++i) {
        for (unsigned char& each : bytes) {
            const auto number = random();
            each = number % 4 == 0   ? rem::detail::k_slot_empty
                   : number % 4 == 1 ? rem::detail::k_slot_end
                                     : rem::detail::control_of(number / 4);
        }
        using plain = rem::detail::plain_hash_group;
        using used = rem::detail::hash_group;
        const auto hash = random() % 2 == 0 ? bytes[random() % 16] : random();
        ASSERT_EQ(used::empty(bytes.data()), plain::empty(bytes.data()));
        ASSERT_EQ(used::end(bytes.data()), plain::end(bytes.data()));
        ASSERT_EQ(used::alike(bytes.data(), hash), plain::alike(bytes.data(), hash));
        for (std::size_t j = 0; j < 16; ++j) {
            ASSERT_EQ((plain::alike(bytes.data(), hash) >> j & 1) != 0,
                      j != 15 && bytes[j] == rem::detail::control_of(hash));
            ASSERT_EQ((plain::empty(bytes.data()) >> j & 1) != 0, j != 15 && bytes[j] == rem::detail::k_slot_empty);
            ASSERT_EQ((plain::end(bytes.data()) >> j & 1) != 0, j != 15 && bytes[j] == rem::detail::k_slot_end);
        }
    }
}

TEST(seeded_hash, of_bytes_is_that_of_wyhash) { // its own test vectors: they are stored
    const auto hash = [](std::string_view text, std::uint64_t seed) {
        return rem::seeded_hash<std::string>()(text, seed);
    };
    EXPECT_EQ(hash("", 0), 0x93228a4de0eec5a2U);
    EXPECT_EQ(hash("a", 1), 0xc5bac3db178713c4U);
    EXPECT_EQ(hash("abc", 2), 0xa97f2f7b1d9b3314U);
    EXPECT_EQ(hash("message digest", 3), 0x786d1f1df3801df4U);
    EXPECT_EQ(hash("abcdefghijklmnopqrstuvwxyz", 4), 0xdca5a8138ad37c87U);
    EXPECT_EQ(hash("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 5), 0xb9e734f117cfaf70U);
    EXPECT_EQ(hash("12345678901234567890123456789012345678901234567890123456789012345678901234567890", 6),
              0x6cc5eab49a92d617U);
}

TEST(seeded_hash, spreads_numbers_that_differ_in_any_bits) {
    for (unsigned shift = 0; shift <= 48; shift += 4) {
        std::array<std::size_t, 128> low{};
        std::unordered_set<std::uint64_t> groups;
        constexpr std::size_t k_count = 1U << 16;
        for (std::uint64_t i = 0; i < k_count; ++i) {
            const std::uint64_t hash = rem::seeded_hash<std::uint64_t>()(i << shift, 42);
            ++low[hash & 127];
            groups.insert(hash >> 7 & 0xffff);
        }
        const auto [least, most] = std::ranges::minmax(low);
        EXPECT_GT(least, k_count / 128 * 8 / 10) << shift;
        EXPECT_LT(most, k_count / 128 * 12 / 10) << shift;
        EXPECT_GT(groups.size(), 40'000U) << shift; // 41,427 are to be expected of random ones
    }
}

TEST(seeded_hash, spreads_sequences_with_any_seed) {
    std::mt19937_64 seeds(rem::test::seed_or(17));
    for (const std::uint64_t step :
         {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{1} << 12, std::uint64_t{1} << 13, std::uint64_t{1} << 21,
          std::uint64_t{1} << 25, std::uint64_t{1} << 45, std::uint64_t{1000003}, std::uint64_t{0x100000001}}) {
        for (int i = 0; i < 300; ++i) {
            const std::uint64_t seed = seeds();
            std::array<std::size_t, 8192> counts{};
            std::size_t alike = 0; // pairs, of which 61 are to be expected of random hashes
            for (std::uint64_t number = 0; number < 1000; ++number)
                alike += counts[rem::seeded_hash<std::uint64_t>()(number * step, seed) & 8191]++;
            ASSERT_LT(alike, 122U) << "step " << step << ", seed " << seed;
        }
    }
}

enum class colour : std::uint8_t { red, green };
TEST(seeded_hash, is_the_same_for_equal_keys) {
    EXPECT_EQ(rem::seeded_hash<double>()(0.0, 1), rem::seeded_hash<double>()(-0.0, 1));
    EXPECT_NE(rem::seeded_hash<double>()(0.5, 1), rem::seeded_hash<double>()(0.25, 1));
    EXPECT_NE(rem::seeded_hash<int>()(1, 1), rem::seeded_hash<int>()(1, 2));
    EXPECT_NE(rem::seeded_hash<colour>()(colour::red, 1), rem::seeded_hash<colour>()(colour::green, 1));
    const rem::string_pi text("abc", rem::allocator<char>(nullptr));
    EXPECT_EQ(rem::seeded_hash<rem::string_pi>()(text, 3), rem::seeded_hash<std::string>()("abc", 3));
    using pair = std::pair<int, std::string>;
    EXPECT_NE(rem::seeded_hash<pair>()(pair(1, "a"), 1), rem::seeded_hash<pair>()(pair(2, "a"), 1));
    EXPECT_NE(rem::seeded_hash<pair>()(pair(1, "a"), 1), rem::seeded_hash<pair>()(pair(1, "b"), 1));
    using three = std::tuple<int, int, int>;
    EXPECT_NE(rem::seeded_hash<three>()(three(1, 2, 3), 1), rem::seeded_hash<three>()(three(3, 2, 1), 1));
    map<std::pair<std::string, int>, int> by_pair;
    by_pair[{"a", 1}] = 2;
    EXPECT_EQ(by_pair.at({"a", 1}), 2);
    set<const void*> by_address; // by std::hash
    by_address.insert(&k_long);
    EXPECT_TRUE(by_address.contains(&k_long));
}

TEST(hash_seeds, differ_between_containers_and_go_along_with_elements) {
    text_map one{{"a", "1"}, {"b", "2"}};
    const text_map other;
    const std::uint64_t seed = hash_inspector::seed_of(one);
    EXPECT_NE(seed, hash_inspector::seed_of(other));
    const text_map copy(one); // NOLINT(performance-unnecessary-copy-initialization): its seed counts
    EXPECT_NE(hash_inspector::seed_of(copy), seed);
    EXPECT_EQ(copy, one);
    text_map moved(std::move(one));
    EXPECT_EQ(hash_inspector::seed_of(moved), seed);
    EXPECT_NE(hash_inspector::seed_of(one), seed); // NOLINT(bugprone-use-after-move): that is what is tested
    text_map swapped;
    swap(swapped, moved);
    EXPECT_EQ(hash_inspector::seed_of(swapped), seed);
    for (int i = 0; i < 1000; ++i)
        swapped[std::to_string(i)];
    EXPECT_EQ(hash_inspector::seed_of(swapped), seed);
    EXPECT_EQ(hash_inspector::fault(swapped), "");
}

struct throwing_hash {
    static inline std::size_t left = ~std::size_t{0};
    std::size_t operator()(int key) const {
        if (left == 0)
            throw std::runtime_error("injected");
        --left;
        return static_cast<std::size_t>(key);
    }
};
TEST(hash_that_throws, has_no_effect) {
    set<int, throwing_hash> all;
    std::size_t failures = 0;
    for (int key = 0; key < 500; ++key) {
        for (std::size_t fail_after = 0;; ++fail_after) {
            const std::size_t slots = all.bucket_count();
            throwing_hash::left = fail_after;
            try {
                all.insert(key);
                throwing_hash::left = ~std::size_t{0};
                break;
            } catch (const std::runtime_error&) {
                throwing_hash::left = ~std::size_t{0};
                ++failures;
                ASSERT_EQ(all.bucket_count(), slots);
                ASSERT_EQ(all.size(), static_cast<std::size_t>(key));
                ASSERT_FALSE(all.contains(key));
            }
        }
        ASSERT_EQ(hash_inspector::fault(all), "");
    }
    EXPECT_GT(failures, 1000U) << "growing calls it for each element";
}

using tagged_test::arena;
using tagged_text = rem::basic_string_pi<tagged_test::tagged<char>>;

TEST(hash_look_up, by_any_kind_of_string_makes_no_other) {
    arena memory;
    {
        using map_type = map<tagged_text, tagged_text, rem::seeded_hash<tagged_text>,
                             tagged_test::tagged<std::pair<const tagged_text, tagged_text>>>;
        map_type all{map_type::allocator_type(memory)};
        all.emplace(k_long, "1");
        const std::size_t before = memory.allocations + tagged_test::elsewhere.allocations;
        EXPECT_TRUE(all.contains(k_long));
        EXPECT_TRUE(all.contains(std::string_view(k_long)));
        EXPECT_EQ(all.count(k_long.c_str()), 1U);
        EXPECT_EQ(all.find("another that is not there, and long, too"), all.end());
        const auto [first, last] = all.equal_range(k_long);
        EXPECT_EQ(std::distance(first, last), 1);
        EXPECT_EQ(memory.allocations + tagged_test::elsewhere.allocations, before);
    }
    const rem::hash_set<rem::string> in_heaps{rem::hash_set<rem::string>::allocator_type(nullptr)};
    EXPECT_FALSE(in_heaps.contains("x") || in_heaps.contains(std::string("x")) || in_heaps.contains(rem::string_pi()));
}

template <class Container, class Keys>
void expect_as_find(const Container& all, const Keys& keys) {
    std::vector<typename Container::const_iterator> found;
    all.find_each(keys, [&](auto at) { found.push_back(at); });
    std::vector<typename Container::const_iterator> expected;
    for (const auto& key : keys)
        expected.push_back(all.find(key));
    EXPECT_EQ(found, expected);
}

TYPED_TEST(hash_tables, find_many_keys_as_one_after_the_other) {
    std::mt19937 random(rem::test::seed_or(3));
    set<int, TypeParam> all;
    for (int count = 0; count != 100; ++count) { // around the 24 that are ahead
        std::vector<int> keys(static_cast<std::size_t>(count));
        std::ranges::generate(keys, [&] { return static_cast<int>(random() % 120); });
        expect_as_find(all, keys);
        all.insert(count);
    }
}

TEST(hash_find_each, finds_elements_with_memory_of_their_own) {
    map<rem::string_pi, rem::vector_pi<rem::string_pi>> vectors;
    map<std::string, std::array<char, 200>> links;
    std::vector<std::string> keys;
    for (int i = 0; i != 300; ++i) {
        keys.push_back((i % 3 == 0 ? k_long : "") + std::to_string(i));
        if (i % 7 == 0)
            continue;
        vectors[rem::string_pi(keys.back())].resize(static_cast<std::size_t>(i % 4), rem::string_pi(k_long));
        links[keys.back()].front() = static_cast<char>(i % 100);
    }
    expect_as_find(vectors, keys);
    expect_as_find(links, keys);
}

TEST(hash_find_each, takes_keys_that_are_made_as_they_are_read) {
    text_map all;
    for (int i = 0; i != 50; ++i)
        all.emplace(k_long + std::to_string(i), std::to_string(i));
    int next = 0;
    all.find_each(std::views::iota(0, 60) | std::views::transform([](int i) { return k_long + std::to_string(i); }),
                  [&](text_map::iterator at) {
                      ASSERT_EQ(at == all.end(), next >= 50);
                      if (at != all.end())
                          at->second += at->second == std::to_string(next) ? "!" : "?";
                      ++next;
                  });
    EXPECT_EQ(next, 60);
    EXPECT_TRUE(std::ranges::all_of(all, [](const auto& each) { return each.second.back() == '!'; }));
}

TEST(hash_find_each, finds_what_is_left_when_elements_go_and_come_meanwhile) {
    std::mt19937 random(rem::test::seed_or(4));
    for (int round = 0; round != 20; ++round) {
        map<std::string, std::string> all;
        std::unordered_map<std::string, std::string> model;
        const auto put = [&](const std::string& key) {
            all.insert_or_assign(key, k_long);
            model.insert_or_assign(key, k_long);
        };
        for (int i = 0; i != 200; ++i)
            put(std::to_string(i));
        std::vector<std::string> keys(500);
        std::ranges::generate(keys, [&] { return std::to_string(random() % 300); });
        std::size_t number = 0;
        all.find_each(keys, [&](auto at) {
            const std::string& key = keys[number++];
            ASSERT_EQ(at != all.end(), model.contains(key)) << key;
            if (at != all.end()) {
                all.erase(at);
                model.erase(key);
            }
            if (random() % 3 == 0)
                put(keys[random() % keys.size()]); // one of the next, perhaps
            if (random() % 50 == 0)
                all.rehash(random() % 2000);
            if (random() % 100 == 0) {
                all.clear();
                model.clear();
            }
        });
        ASSERT_EQ(number, keys.size());
        ASSERT_EQ(hash_inspector::fault(all), "");
        ASSERT_EQ(all.size(), model.size());
        for (const auto& [key, value] : model)
            ASSERT_TRUE(all.contains(key));
    }
}

TEST(hash_map, has_what_std_unordered_map_has_beside_other_maps) {
    const text_map all{{"b", "2"}, {"a", "1"}};
    EXPECT_TRUE(all.key_eq()("x", std::string("x")));
    EXPECT_EQ(all.hash_function()("x"), rem::seeded_hash<std::string>()("x"));
    const std::map<std::string, std::string> model{{"one", "1"}, {"two", "2"}};
    text_map copied(model.begin(), model.end(), 100);
    EXPECT_EQ(copied.bucket_count(), 128U);
    for (int i = 0; i < 500; ++i)
        copied.emplace(copied.begin()->first + std::to_string(i), copied.begin()->second);
    EXPECT_EQ(copied.size(), 502U);
    EXPECT_EQ(hash_inspector::fault(copied), "");
    const rem::hash_set some{3, 1, 2};
    static_assert(std::is_same_v<decltype(some), const rem::hash_set<int>>);
    const rem::hash_map deduced(model.begin(), model.end());
    static_assert(std::is_same_v<decltype(deduced), const rem::hash_map<std::string, std::string>>);
    EXPECT_EQ(std::ranges::distance(some | std::views::filter([](int i) { return i > 1; })), 2);
    EXPECT_EQ(set<int>().max_size(), PTRDIFF_MAX / sizeof(int));
}

TEST(hash_map, takes_types_that_are_aligned) {
    struct alignas(64) wide {
        std::uint64_t number;
    };
    map<int, wide> aligned;
    for (int i = 0; i < 100; ++i) {
        aligned[i].number = static_cast<std::uint64_t>(i);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&aligned.at(i)) % 64, 0U);
    }
}

TEST(hash_node_handles, carry_elements_between_containers_of_other_hashes) {
    text_map one{{"a", "1"}, {"b", "2"}};
    using other_hash = map<std::string, std::string, std::hash<std::string>>;
    static_assert(std::is_same_v<other_hash::node_type, text_map::node_type>);
    other_hash other{{"b", "another"}, {"d", "4"}};
    EXPECT_FALSE(one.insert(other.extract("b")).inserted);
    one.merge(other);
    EXPECT_EQ(one.size(), 3U);
    EXPECT_TRUE(other.empty());
    other.merge(one);
    EXPECT_EQ(other.size(), 3U);
    EXPECT_EQ(hash_inspector::fault(one) + hash_inspector::fault(other), "");
}

TEST(hash_at_another_address, works_with_all_that_it_holds) {
    using moving_test::moving;
    using text = rem::basic_string_pi<moving<char>>;
    using numbers = rem::hash_set<int, rem::seeded_hash<int>, std::equal_to<>, moving<int>>;
    struct boxed { // too large for a slot
        std::array<char, 300> bytes{};
        numbers some;
    };
    using map_type =
        rem::hash_map<text, boxed, rem::seeded_hash<text>, std::equal_to<>, moving<std::pair<const text, boxed>>>;
    using map_of_texts =
        rem::hash_map<int, text, rem::seeded_hash<int>, std::equal_to<>, moving<std::pair<const int, text>>>;
    struct both {
        map_type linked;
        map_of_texts in_slots;
    };
    moving_test::arena memory;
    ::new (memory.allocate(sizeof(both))) both;
    std::map<int, int> model;
    std::mt19937 random(rem::test::seed_or(9));
    const auto name = [](int key) {
        return std::to_string(key) + std::string(static_cast<std::size_t>(key % 40), 'n');
    };
    for (int round = 0; round < 5; ++round) {
        auto& all = memory.first<both>();
        for (int i = 0; i < 200; ++i) {
            const int key = static_cast<int>(random() % 500);
            if (random() % 3 != 0) {
                all.linked[text(name(key))].some.insert({i, i + 1, i + 2});
                all.in_slots[key] = name(i);
                model[key] = i;
            } else {
                EXPECT_EQ(all.linked.erase(text(name(key))), model.erase(key));
                all.in_slots.erase(key);
            }
        }
        memory.move();
        const auto& there = memory.first<both>();
        ASSERT_EQ(hash_inspector::fault(there.linked), "");
        ASSERT_EQ(hash_inspector::fault(there.in_slots), "");
        ASSERT_EQ(there.linked.size(), model.size());
        for (const auto& [key, number] : model) {
            const auto found = there.linked.find(name(key));
            ASSERT_NE(found, there.linked.end());
            EXPECT_EQ(hash_inspector::fault(found->second.some), "");
            EXPECT_TRUE(found->second.some.contains(number + 2));
            EXPECT_EQ(there.in_slots.at(key), name(number));
        }
    }
}

TEST(hash_fingerprint, tells_what_tables_look_like) {
    using rem::detail::fingerprint_of;
    using map_type = rem::hash_map<int, rem::string>;
    const auto& found = fingerprint_of<map_type>();
    EXPECT_EQ(found.name, "rem::hash_map<int, rem::string>");
    EXPECT_TRUE(found.nameable);
    const std::string layout = rem::types::type_description::decode(found.description)->text();
    EXPECT_NE(layout.find("hash table 2 slots"), std::string::npos) << layout;
    EXPECT_NE(layout.find("rem::string 40/8"), std::string::npos) << layout;
    EXPECT_NE(found.hash, (fingerprint_of<rem::hash_map<int, rem::string, std::hash<int>>>().hash));
    EXPECT_NE(found.hash,
              (fingerprint_of<rem::hash_map<int, rem::string, rem::seeded_hash<int>, std::equal_to<int>>>().hash));
    EXPECT_EQ(fingerprint_of<rem::hash_set<rem::string_pi>>().name, "rem::hash_set<rem::string_pi>");
    EXPECT_EQ((fingerprint_of<rem::hash_set<int, std::hash<int>>>().name), "rem::hash_set<int, std::hash<int>>");
    EXPECT_EQ(fingerprint_of<directory>().hash, rem::detail::make_fingerprint<directory>().hash);
}

} // namespace hash_test
