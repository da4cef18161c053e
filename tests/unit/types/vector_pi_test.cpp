// The position-independent vector by itself; tests/conformance compares it with the standard's.

#include <remanence/containers/string_pi.hpp>
#include <remanence/containers/vector_pi.hpp>

#include "moving_arena.hpp"
#include "support/seed.hpp"
#include "tagged_allocator.hpp"
#include "types/type_description.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rem = remanence;

namespace vector_pi_test {

using ints = rem::vector_pi<int, std::allocator<int>>;
using tagged_test::arena;

static_assert(sizeof(rem::vector_pi<int>) == 32 && sizeof(ints) == 24);
static_assert(std::is_nothrow_move_constructible_v<rem::vector_pi<int>>);
static_assert(std::ranges::contiguous_range<const rem::vector_pi<rem::string_pi>>);
static_assert(rem::detail::is_self_contained<rem::vector_pi<int>>());
struct entry {
    rem::string_pi name;
    std::optional<std::pair<int, rem::vector_pi<double>>> more;
};
static_assert(rem::is_position_independent_v<rem::vector_pi<entry>>);
static_assert(!rem::is_position_independent_v<rem::vector_pi<int*>>);
static_assert(!rem::is_position_independent_v<std::tuple<rem::vector_pi<entry>, std::string>>);

struct directory { // of itself
    rem::vector_pi<directory> below;
    int number = 0;
};

template <class A, class B>
bool same(const A& a, const B& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(vector_pi, has_the_interface_of_std_vector) {
    ints some{1, 2, 3};
    some.push_back(4);
    some.insert(some.begin() + 1, {7, 8});
    EXPECT_EQ(some, (ints{1, 7, 8, 2, 3, 4}));
    some.insert(some.cend(), 2, 9);
    EXPECT_EQ(*some.emplace(some.begin(), 0), 0);
    EXPECT_EQ(some, (ints{0, 1, 7, 8, 2, 3, 4, 9, 9}));
    EXPECT_EQ(*some.erase(some.begin() + 1, some.begin() + 3), 8);
    EXPECT_EQ(erase(some, 9), 2U);
    EXPECT_EQ(erase_if(some, [](int each) { return each % 2 == 1; }), 1U);
    EXPECT_EQ(some, (ints{0, 8, 2, 4}));
    EXPECT_THROW((void)some.at(4), std::out_of_range);
    EXPECT_THROW(some.reserve(some.max_size() + 1), std::length_error);
    EXPECT_LT(some, (ints{0, 9}));
    EXPECT_EQ(some <=> some, std::strong_ordering::equal);
    some.resize(6);
    EXPECT_EQ(some.back(), 0);
    some.assign(2, 5);
    EXPECT_EQ(some, (ints{5, 5}));
    std::istringstream letters("abc");
    rem::vector_pi<char> read;
    read.assign(std::istreambuf_iterator<char>(letters), std::istreambuf_iterator<char>());
    EXPECT_EQ(read, (rem::vector_pi<char>{'a', 'b', 'c'}));
    some = {3, 4, 5};
    ints other;
    swap(some, other);
    EXPECT_TRUE(some.empty());
    other.shrink_to_fit();
    EXPECT_EQ(other.capacity(), 3U);
    other.clear();
    other.shrink_to_fit();
    EXPECT_EQ(other.capacity(), 0U);
    EXPECT_EQ(other.begin(), other.end());
    const std::vector<int> source{1, 2};
    const rem::vector_pi deduced(source.begin(), source.end());
    static_assert(std::is_same_v<decltype(deduced), const rem::vector_pi<int>>);
    EXPECT_TRUE(std::ranges::equal(deduced | std::views::reverse, std::vector<int>{2, 1}));
    rem::vector_pi<std::unique_ptr<int>> owners;
    for (int i = 0; i < 10; ++i)
        owners.insert(owners.begin(), std::make_unique<int>(i));
    EXPECT_EQ(*owners.front(), 9);
    directory root;
    root.below.resize(3);
    root.below[1].below.emplace_back().number = 3;
    directory moved = std::move(root);
    EXPECT_EQ(moved.below[1].below[0].number, 3);
}

TEST(vector_pi, swaps_elements_and_not_memory_between_allocators) {
    using element = rem::basic_string_pi<tagged_test::tagged<char>>;
    using vector_type = rem::vector_pi<element, tagged_test::tagged<element>>;
    using owners = rem::vector_pi<std::unique_ptr<int>, tagged_test::tagged<std::unique_ptr<int>>>;
    arena here;
    arena there;
    {
        vector_type a{tagged_test::tagged<element>(here)};
        vector_type b{tagged_test::tagged<element>(there)};
        for (int i = 0; i < 3; ++i)
            a.emplace_back("a text that is longer than a small buffer");
        b.emplace_back("short");
        swap(a, b);
        EXPECT_EQ(a.size() + 10 * b.size(), 31U);
        EXPECT_EQ(a.front(), "short");
        EXPECT_EQ(here.live, 1U);
        EXPECT_EQ(there.live, 4U);
        EXPECT_EQ(b.back().get_allocator().where, &there);
        owners c{tagged_test::tagged<std::unique_ptr<int>>(here)};
        owners d{tagged_test::tagged<std::unique_ptr<int>>(there)};
        c.push_back(std::make_unique<int>(3));
        c.swap(d);
        EXPECT_TRUE(c.empty());
        EXPECT_EQ(*d.front(), 3);
    }
    EXPECT_EQ(here.live + there.live, 0U);
}

TEST(vector_pi, may_be_given_its_own_elements) {
    using texts = rem::vector_pi<std::string, std::allocator<std::string>>;
    texts some{"the first of all these texts", "the second of all these texts"};
    std::vector<std::string> model(some.begin(), some.end());
    for (std::size_t i = 0; i < 40; ++i) {
        some.push_back(some[i]);
        model.push_back(std::string(model[i]));
        some.insert(some.begin() + 1, some[i + 1]);
        model.insert(model.begin() + 1, std::string(model[i + 1]));
        some.resize(some.size() + 2, some[i]);
        model.resize(model.size() + 2, std::string(model[i]));
        some.insert(some.begin(), some.begin(), some.begin() + 1);
        model.insert(model.begin(), std::string(model[0]));
        ASSERT_TRUE(same(some, model));
    }
}

/// A string that throws after so many copies, and when it moves.
struct throwing {
    static inline std::size_t left = ~std::size_t{0};
    static void count() {
        if (left == 0)
            throw std::runtime_error("injected");
        --left;
    }
    explicit throwing(int value) : number(std::make_shared<int>(value)) { count(); }
    throwing(const throwing& other) : number((count(), other.number)) {}
    throwing& operator=(const throwing& other) {
        count();
        if (this != &other)
            number = other.number;
        return *this;
    }
    ~throwing() = default;
    std::shared_ptr<int> number; // a leak or a second destruction shows
    friend bool operator==(const throwing& a, const throwing& b) { return *a.number == *b.number; }
};

TEST(vector_pi, may_become_what_one_of_its_elements_has) {
    directory root;
    root.below.resize(3);
    root.below[1].below.resize(2);
    root.below[1].below[1].below.emplace_back().number = 3;
    root.below = std::move(root.below[1].below);
    ASSERT_EQ(root.below.size(), 2U);
    EXPECT_EQ(root.below[1].below.front().number, 3);
}

/// Its move may throw, as that of libstdc++'s deque.
struct throwing_move {
    throwing_move(int n) : number(n) {} // NOLINT(google-explicit-constructor)
    throwing_move(const throwing_move& other) : number(other.number) {
        if (copies_left-- == 0)
            throw std::runtime_error("injected");
    }
    throwing_move& operator=(const throwing_move& other) = default;
    ~throwing_move() = default;
    int number;
    static inline int copies_left = -1; // never
};

TEST(vector_pi, appends_where_there_is_room_whatever_its_elements) {
    rem::vector_pi<throwing_move, std::allocator<throwing_move>> some;
    some.reserve(10);
    some.push_back(1);
    const auto* const first = some.data();
    some.insert(some.end(), 3, 2);
    some.resize(6, 3);
    const std::vector<throwing_move> more{4, 5};
    some.insert(some.end(), more.begin(), more.end());
    throwing_move::copies_left = 2; // each is made where it stays
    EXPECT_NO_THROW(some.insert(some.end(), more.begin(), more.end()));
    throwing_move::copies_left = -1;
    EXPECT_EQ(some.data(), first);
    ASSERT_EQ(some.size(), 10U);
    some.erase(some.end() - 2, some.end());
    throwing_move::copies_left = 1;
    EXPECT_THROW(some.insert(some.end(), more.begin(), more.end()), std::runtime_error);
    throwing_move::copies_left = -1;
    std::vector<int> numbers;
    for (const throwing_move& each : some)
        numbers.push_back(each.number);
    EXPECT_EQ(numbers, (std::vector<int>{1, 2, 2, 2, 3, 3, 4, 5}));
    EXPECT_EQ(some.data(), first);
}

TEST(vector_pi, has_no_effect_when_elements_throw_as_they_come_in) {
    using vector_type = rem::vector_pi<throwing, std::allocator<throwing>>;
    const auto fails_in_each_place = [](const vector_type& before, auto&& change) {
        for (std::size_t fail_after = 0;; ++fail_after) {
            vector_type some(before);
            throwing::left = fail_after;
            try {
                change(some);
                throwing::left = ~std::size_t{0};
                return fail_after;
            } catch (const std::runtime_error&) {
                throwing::left = ~std::size_t{0};
                EXPECT_EQ(some, before) << fail_after;
            }
        }
    };
    vector_type some;
    for (int i = 0; i < 6; ++i)
        some.emplace_back(i);
    EXPECT_GT(fails_in_each_place(some, [](vector_type& v) { v.emplace_back(7); }), 6U);
    EXPECT_GT(fails_in_each_place(some, [](vector_type& v) { v.emplace(v.begin() + 2, 7); }), 6U);
    EXPECT_GT(fails_in_each_place(some, [](vector_type& v) { v.insert(v.begin() + 2, 3, v[4]); }), 8U);
    EXPECT_GT(fails_in_each_place(some, [](vector_type& v) { v.reserve(100); }), 5U);
    EXPECT_GT(fails_in_each_place(some, [](vector_type& v) { v = vector_type(v.begin(), v.begin() + 2); }), 1U);
    EXPECT_GT(fails_in_each_place(some, [](vector_type& v) { v.resize(20, v[1]); }), 13U);
    EXPECT_EQ(some[0].number.use_count(), 1);
}

TEST(vector_pi, has_no_effect_without_memory) {
    arena memory;
    {
        using element = rem::basic_string_pi<tagged_test::tagged<char>>;
        using vector_type = rem::vector_pi<element, tagged_test::tagged<element>>;
        vector_type some{vector_type::allocator_type(memory)};
        std::vector<std::string> model;
        std::size_t failures = 0;
        for (std::size_t i = 0; i < 200; ++i) {
            const std::string text = "a text that is longer than a small buffer " + std::to_string(i);
            failures += tagged_test::fail_each_allocation(
                memory, [&] { some.emplace(some.begin() + static_cast<std::ptrdiff_t>(i * 7 % (i + 1)), text); },
                [&](std::size_t) { EXPECT_TRUE(same(some, model)); });
            model.insert(model.begin() + static_cast<std::ptrdiff_t>(i * 7 % (i + 1)), text);
            ASSERT_TRUE(same(some, model));
        }
        EXPECT_GT(failures, 200U);
    }
    EXPECT_EQ(memory.live, 0U);
}

TEST(vector_pi, of_another_allocator_has_elements_moved_one_by_one) {
    arena one;
    arena other;
    {
        using element = rem::basic_string_pi<tagged_test::tagged<char>>;
        using vector_type = rem::vector_pi<element, tagged_test::tagged<element>>;
        vector_type a{vector_type::allocator_type(one)};
        a.resize(3, element("a text that is longer than a small buffer", tagged_test::tagged<char>(one)));
        vector_type b{vector_type::allocator_type(other)};
        b = std::move(a);
        EXPECT_EQ(b.size(), 3U);
        for (const auto& each : b)
            EXPECT_EQ(each.get_allocator().where, &other);
        EXPECT_EQ(other.live, 4U);
    }
    EXPECT_EQ(one.live + other.live, 0U);
}

TEST(vector_pi, erases_up_to_where_the_predicate_throws) {
    ints some(20);
    for (int i = 0; i < 20; ++i)
        some[static_cast<std::size_t>(i)] = i;
    EXPECT_THROW(erase_if(some,
                          [](int each) {
                              if (each == 10)
                                  throw std::runtime_error("injected");
                              return each % 2 == 0;
                          }),
                 std::runtime_error);
    EXPECT_EQ(some, (ints{1, 3, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
}

TEST(vector_pi, keeps_all_when_the_predicate_throws_at_once) {
    rem::vector_pi<std::string, std::allocator<std::string>> some(3, std::string("a text in a block of its own"));
    const auto before = some;
    EXPECT_THROW(erase_if(some, [](const std::string&) -> bool { throw std::runtime_error("injected"); }),
                 std::runtime_error);
    EXPECT_EQ(some, before);
}

TEST(vector_pi, works_at_another_address) {
    using text = rem::basic_string_pi<moving_test::moving<char>>;
    using row = rem::vector_pi<text, moving_test::moving<text>>;
    using table = rem::vector_pi<row, moving_test::moving<row>>;
    moving_test::arena memory;
    ::new (memory.allocate(sizeof(table))) table;
    std::vector<std::vector<std::string>> model;
    std::mt19937 random(rem::test::seed_or(11));
    for (std::size_t i = 0; i < 100; ++i) {
        table& all = memory.first<table>();
        const std::size_t at = random() % (all.size() + 1);
        all.emplace(all.begin() + static_cast<std::ptrdiff_t>(at));
        model.emplace(model.begin() + static_cast<std::ptrdiff_t>(at));
        const std::size_t into = random() % all.size();
        const std::string entry(random() % 50, static_cast<char>('a' + random() % 26));
        all[into].insert(all[into].begin(), text(entry));
        model[into].insert(model[into].begin(), entry);
        if (random() % 4 == 0) {
            all.erase(all.begin());
            model.erase(model.begin());
        }
        memory.move();
        ASSERT_TRUE(std::equal(memory.first<table>().begin(), memory.first<table>().end(), model.begin(), model.end(),
                               same<row, std::vector<std::string>>));
    }
}

TEST(vector_pi, has_a_fingerprint_with_elements_and_the_number_of_its_layout) {
    using rem::detail::fingerprint_of;
    EXPECT_EQ(fingerprint_of<rem::vector_pi<rem::string_pi>>().name, "rem::vector_pi<rem::string_pi>");
    EXPECT_EQ(rem::types::type_description::decode(fingerprint_of<rem::vector_pi<int>>().description)->text(),
              "rem::vector_pi<int> 32/8 <int> vector 1\nint 4/4");
    EXPECT_EQ(fingerprint_of<directory>().hash, rem::detail::make_fingerprint<directory>().hash);
}

} // namespace vector_pi_test
