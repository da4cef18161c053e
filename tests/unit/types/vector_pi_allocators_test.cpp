// What vector_pi asks of its elements and of allocators other than a heap's: what std::vector asks, and no more.

#include "support/seed.hpp"

#include <remanence/containers/string_pi.hpp>
#include <remanence/containers/vector_pi.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <compare>
#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rem = remanence;

namespace vector_pi_allocators_test {

/// What was asked of the allocators that have it.
struct ledger {
    std::size_t allocations = 0;
    std::size_t bytes = 0;
    std::size_t bytes_peak = 0;
    std::map<const void*, bool> constructed; ///< by place; true: there is one
    std::size_t constructions = 0;
    std::size_t destructions = 0;
    bool is_balanced = true;
};

/// Constructs and destroys elements itself, and knows where they are. `Propagates`: on assignments and swaps.
template <class T, bool Propagates = false>
struct counting {
    using value_type = T;
    using propagate_on_container_copy_assignment = std::bool_constant<Propagates>;
    using propagate_on_container_move_assignment = std::bool_constant<Propagates>;
    using propagate_on_container_swap = std::bool_constant<Propagates>;
    using is_always_equal = std::false_type;
    template <class U>
    struct rebind {
        using other = counting<U, Propagates>;
    };

    explicit counting(ledger& in, int number = 0) : book(&in), id(number) {}
    template <class U>
    counting(const counting<U, Propagates>& other)
        : book(other.book), id(other.id) {} // NOLINT(google-explicit-constructor)

    T* allocate(std::size_t count) {
        ++book->allocations;
        book->bytes += count * sizeof(T);
        book->bytes_peak = std::max(book->bytes_peak, book->bytes);
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T* block, std::size_t count) {
        book->bytes -= count * sizeof(T);
        std::allocator<T>().deallocate(block, count);
    }
    template <class U, class... Args>
    void construct(U* where, Args&&... args) noexcept(std::is_nothrow_constructible_v<U, Args...>) {
        ::new (static_cast<void*>(where)) U(std::forward<Args>(args)...);
        ++book->constructions;
        book->is_balanced &= !std::exchange(book->constructed[where], true);
    }
    template <class U>
    void destroy(U* where) noexcept {
        ++book->destructions;
        book->is_balanced &= std::exchange(book->constructed[where], false);
        where->~U();
    }
    /// `id` does not count: allocators that are equal may still differ.
    friend bool operator==(const counting& a, const counting& b) { return a.book == b.book; }

    ledger* book;
    int id;
};

template <class T>
class each_element : public testing::Test {};
struct throwing_move {
    throwing_move(int n) : text(std::to_string(n)) {} // NOLINT(google-explicit-constructor)
    throwing_move(const throwing_move&) = default;
    throwing_move& operator=(const throwing_move&) = default;
    ~throwing_move() = default;
    friend bool operator==(const throwing_move&, const throwing_move&) = default;
    std::string text;
};
struct text {
    text(int n) : all(std::to_string(n) + " is a text in a block of its own") {} // NOLINT(google-explicit-constructor)
    friend bool operator==(const text&, const text&) = default;
    std::string all;
};
using elements = testing::Types<int, text, throwing_move>;
TYPED_TEST_SUITE(each_element, elements);

TYPED_TEST(each_element, is_constructed_and_destroyed_by_the_allocator_wherever_it_goes) {
    using vector_type = rem::vector_pi<TypeParam, counting<TypeParam>>;
    ledger book;
    {
        vector_type some{counting<TypeParam>(book)};
        std::vector<TypeParam> model;
        std::mt19937 random(rem::test::seed_or(7));
        for (int i = 0; i < 400; ++i) {
            const auto at = static_cast<std::ptrdiff_t>(random() % (model.size() + 1));
            const auto count = random() % 5;
            const std::list<TypeParam> list{i, i + 1, i + 2};
            switch (random() % 12) {
            case 0:
                some.push_back(i);
                model.push_back(i);
                break;
            case 1:
                some.emplace(some.begin() + at, i);
                model.emplace(model.begin() + at, i);
                break;
            case 2:
                some.insert(some.begin() + at, count, i);
                model.insert(model.begin() + at, count, i);
                break;
            case 3:
                some.insert(some.begin() + at, list.begin(), list.end());
                model.insert(model.begin() + at, list.begin(), list.end());
                break;
            case 4:
                some.append_range(list);
                model.insert(model.end(), list.begin(), list.end());
                break;
            case 5:
                some.erase(some.begin() + at, some.end());
                model.erase(model.begin() + at, model.end());
                break;
            case 6:
                if (count == 0) {
                    some.assign(count, i);
                    model.assign(count, i);
                } else {
                    some.resize(model.size() + count, i);
                    model.resize(model.size() + count, i);
                }
                break;
            case 7: {
                vector_type copy(some);
                copy.insert_range(copy.begin() + at, list);
                some = copy;
                model.insert(model.begin() + at, list.begin(), list.end());
                break;
            }
            case 8: {
                vector_type other(3, TypeParam(i), counting<TypeParam>(book));
                other.swap(some);
                other = std::move(some);
                some = std::move(other);
                model.assign(3, i);
                break;
            }
            case 9:
                some.reserve(some.size() + count);
                some.shrink_to_fit();
                break;
            case 10:
                EXPECT_EQ(erase(some, TypeParam(i - 1)), std::erase(model, TypeParam(i - 1)));
                break;
            default:
                some.assign_range(some);
                break;
            }
            ASSERT_TRUE(std::ranges::equal(some, model)) << i;
            ASSERT_TRUE(book.is_balanced) << i;
            ASSERT_EQ(book.constructions - book.destructions, some.size()) << i;
        }
        ASSERT_GT(book.constructions, 400U);
    }
    EXPECT_EQ(book.constructions, book.destructions);
    EXPECT_EQ(book.bytes, 0U);
}

TEST(vector_pi, assigns_and_swaps_the_allocators_that_say_so) {
    using staying = rem::vector_pi<std::string, counting<std::string>>;
    using going = rem::vector_pi<std::string, counting<std::string, true>>;
    ledger one;
    ledger other;
    const auto id_of = [](const auto& of) { return of.get_allocator().id; };
    { // equal ones
        staying a({"a"}, counting<std::string>(one, 1));
        staying b({"b"}, counting<std::string>(one, 2));
        a = b;
        EXPECT_EQ(id_of(a), 1);
        a = std::move(b);
        EXPECT_EQ(id_of(a), 1);
        b.push_back("again"); // NOLINT(bugprone-use-after-move): it may be assigned to
        swap(a, b);
        EXPECT_EQ(id_of(a), 1);
        EXPECT_EQ(a.front(), "again");
        going c({"c"}, counting<std::string, true>(one, 3));
        going d({"d"}, counting<std::string, true>(one, 4));
        c = d;
        EXPECT_EQ(id_of(c), 4);
        c = going({"e"}, counting<std::string, true>(one, 5));
        EXPECT_EQ(id_of(c), 5);
        swap(c, d);
        EXPECT_EQ(id_of(c), 4);
        EXPECT_EQ(c.front(), "d");
    }
    { // others
        staying a({"a"}, counting<std::string>(one, 1));
        staying b({"b"}, counting<std::string>(other, 2));
        a = b;
        EXPECT_EQ(a.get_allocator().book, &one);
        a = std::move(b);
        EXPECT_EQ(a.get_allocator().book, &one);
        going c({"c"}, counting<std::string, true>(one, 3));
        const going d({"d"}, counting<std::string, true>(other, 4));
        c = d;
        EXPECT_EQ(c.get_allocator().book, &other);
        c = going({"e"}, counting<std::string, true>(one, 5));
        EXPECT_EQ(c.get_allocator().book, &one);
        going e({"f"}, counting<std::string, true>(other, 6));
        swap(c, e);
        EXPECT_EQ(c.get_allocator().book, &other);
        EXPECT_EQ(c.front(), "f");
    }
    EXPECT_EQ(one.constructions, one.destructions);
    EXPECT_EQ(other.constructions, other.destructions);
    EXPECT_TRUE(one.is_balanced && other.is_balanced);
    EXPECT_EQ(one.bytes + other.bytes, 0U);
}

/// Counts only what it allocates.
template <class T>
struct measuring {
    using value_type = T;
    measuring(ledger& in) : book(&in) {} // NOLINT(google-explicit-constructor)
    template <class U>
    measuring(const measuring<U>& other) : book(other.book) {} // NOLINT(google-explicit-constructor)
    T* allocate(std::size_t count) { return counting<T>(*book).allocate(count); }
    void deallocate(T* block, std::size_t count) { counting<T>(*book).deallocate(block, count); }
    friend bool operator==(const measuring& a, const measuring& b) { return a.book == b.book; }
    ledger* book;
};

TYPED_TEST(each_element, is_held_once_while_a_vector_gets_many) {
    using vector_type = rem::vector_pi<TypeParam, measuring<TypeParam>>;
    constexpr std::size_t k_many = 1000;
    const std::list<TypeParam> list(k_many, 1);
    const auto measured = [&](auto&& act) {
        ledger book;
        act(book);
        EXPECT_EQ(book.bytes_peak, k_many * sizeof(TypeParam));
        EXPECT_EQ(book.allocations, 1U);
    };
    measured([](ledger& book) { vector_type some(k_many, TypeParam(1), book); });
    measured([](ledger& book) { vector_type(measuring<TypeParam>(book)).resize(k_many, 1); });
    measured([](ledger& book) { vector_type(measuring<TypeParam>(book)).assign(k_many, 1); });
    measured([](ledger& book) {
        vector_type some{measuring<TypeParam>(book)};
        some.insert(some.begin(), k_many, 1);
    });
    measured([&](ledger& book) { vector_type some(list.begin(), list.end(), book); });
    measured([&](ledger& book) { vector_type some(rem::from_range, list, book); });
    measured([&](ledger& book) { vector_type(measuring<TypeParam>(book)).append_range(list); });
    measured([&](ledger& book) { vector_type(measuring<TypeParam>(book)).assign_range(list); });
}

TYPED_TEST(each_element, comes_in_without_an_allocation_where_there_is_room) {
    using vector_type = rem::vector_pi<TypeParam, measuring<TypeParam>>;
    ledger book;
    vector_type some{measuring<TypeParam>(book)};
    some.reserve(1000);
    const TypeParam* const first = some.data();
    const std::list<TypeParam> list(10, 1);
    some.assign(10, 1);
    some.assign(list.begin(), list.end());
    some.append_range(list);
    some.insert(some.end(), 10, 1);
    some.resize(50, 1);
    some = vector_type(10, TypeParam(2), book).size() == 10 ? vector_type(some, book) : some; // moves another block in
    EXPECT_NE(some.data(), first);
    some.reserve(1000);
    const vector_type few(10, TypeParam(2), book);
    const std::size_t before = book.allocations;
    some.assign(10, 3);
    if (std::is_nothrow_move_constructible_v<TypeParam>) {
        for (int i = 0; i < 50; ++i)
            some.insert(some.begin(), TypeParam(i));
        some.insert(some.begin() + 3, 100, 7);
        some.insert(some.begin() + 5, list.begin(), list.end());
        some.insert_range(some.begin() + 5, some);
        some = few;
        EXPECT_EQ(book.allocations, before);
    } else {
        some = few;
    }
    EXPECT_EQ(some.capacity(), 1000U);
    EXPECT_TRUE(std::ranges::equal(some, few));
}

/// Cannot move.
struct fixed {
    fixed() = default;
    explicit fixed(int n) : number(n) {}
    fixed(const fixed&) = delete;
    fixed& operator=(const fixed&) = delete;
    int number = 5;
};
/// Can be copied, but not assigned to.
struct constant {
    constant(int n) : number(n) {} // NOLINT(google-explicit-constructor)
    const int number;
};
static_assert(!std::is_move_constructible_v<fixed> && !std::is_copy_assignable_v<constant>);

TEST(vector_pi, asks_of_elements_what_each_operation_needs) {
    const rem::vector_pi<std::atomic<int>> counters(10);
    EXPECT_EQ(counters[9], 0);
    rem::vector_pi<fixed> some(3);
    EXPECT_EQ(some[2].number, 5);
    some.pop_back();
    some.clear();
    const std::list<int> numbers{1, 2, 3};
    const rem::vector_pi<fixed> made(numbers.begin(), numbers.end());
    EXPECT_EQ(made[2].number, 3);
    rem::vector_pi<fixed> taken(std::move(some));
    swap(some, taken);
    rem::vector_pi<constant> constants{1, 2, 3};
    constants.insert(constants.begin(), 0);
    constants.insert(constants.begin() + 1, 400, 7);
    constants.erase(constants.begin() + 1, constants.begin() + 401);
    constants.assign(constants.begin() + 1, constants.end());
    EXPECT_EQ(constants.size(), 3U);
    EXPECT_EQ(constants[0].number, 1);
    EXPECT_EQ(constants[2].number, 3);
}

struct with_equality {
    bool operator==(const with_equality&) const = default;
};
struct with_less {
    friend bool operator<(const with_less&, const with_less&) { return false; }
    friend bool operator==(const with_less&, const with_less&) { return true; }
};
struct with_nothing {};
static_assert(std::equality_comparable<rem::vector_pi<with_equality>>);
static_assert(!std::three_way_comparable<rem::vector_pi<with_equality>>);
static_assert(!std::totally_ordered<rem::vector_pi<with_equality>>);
static_assert(!std::equality_comparable<rem::vector_pi<with_nothing>>);
static_assert(std::three_way_comparable<rem::vector_pi<with_less>, std::weak_ordering>);
static_assert(std::three_way_comparable<rem::vector_pi<rem::vector_pi<int>>, std::strong_ordering>);
static_assert(!std::three_way_comparable<rem::vector_pi<rem::vector_pi<with_equality>>>);

TEST(vector_pi, takes_ranges_as_the_vector_of_cxx23_does) {
    const std::list<int> list{4, 5, 6};
    rem::vector_pi<int> some(rem::from_range, list);
    some.insert_range(some.begin() + 1, std::views::iota(10, 13));
    some.append_range(std::views::single(7));
    some.append_range(some);
    EXPECT_EQ(some, (rem::vector_pi<int>{4, 10, 11, 12, 5, 6, 7, 4, 10, 11, 12, 5, 6, 7}));
    some.assign_range(some | std::views::drop(10) | std::views::transform([](int each) { return each * 2; }));
    EXPECT_EQ(some, (rem::vector_pi<int>{24, 10, 12, 14}));
    std::istringstream in("1 2 3"); // read once, and of unknown length
    some.insert_range(some.begin() + 1, std::views::istream<int>(in));
    EXPECT_EQ(some, (rem::vector_pi<int>{24, 1, 2, 3, 10, 12, 14}));
    std::istringstream more("8 9");
    some.append_range(std::views::istream<int>(more));
    std::istringstream all("3 2 1");
    EXPECT_EQ(some.back(), 9);
    some.assign_range(std::views::istream<int>(all));
    EXPECT_EQ(some, (rem::vector_pi<int>{3, 2, 1}));
    std::istringstream last("6 7");
    EXPECT_EQ((rem::vector_pi<int>(rem::from_range, std::views::istream<int>(last))), (rem::vector_pi<int>{6, 7}));
    rem::vector_pi<rem::string_pi> texts(rem::from_range, std::vector<const char*>{"a", "b"});
    texts.insert_range(texts.begin(), std::vector<const char*>(300, "c"));
    EXPECT_EQ(texts.size(), 302U);
    EXPECT_EQ(texts[299], "c");
    EXPECT_EQ(texts[300], "a");
    rem::vector_pi<int> unsized_middle(40, 1);
    unsized_middle.reserve(1000);
    unsized_middle.insert_range(unsized_middle.begin() + 7,
                                unsized_middle | std::views::filter([](int each) { return each == 1; }));
    EXPECT_EQ(unsized_middle.size(), 80U);
}

TEST(vector_pi, is_deduced_with_its_allocator) {
    const std::vector<int> source{1, 2};
    ledger book;
    const rem::vector_pi a(source.begin(), source.end(), std::allocator<int>());
    const rem::vector_pi b(rem::from_range, source);
    const rem::vector_pi c(rem::from_range, source, measuring<int>(book));
    const rem::vector_pi d{1, 2};
    const rem::vector_pi e(std::size_t{2}, 1.5, measuring<double>(book));
    const rem::vector_pi f(a);
    static_assert(std::is_same_v<decltype(a), const rem::vector_pi<int, std::allocator<int>>>);
    static_assert(std::is_same_v<decltype(b), const rem::vector_pi<int>>);
    static_assert(std::is_same_v<decltype(c), const rem::vector_pi<int, measuring<int>>>);
    static_assert(std::is_same_v<decltype(d), const rem::vector_pi<int>>);
    static_assert(std::is_same_v<decltype(e), const rem::vector_pi<double, measuring<double>>>);
    static_assert(std::is_same_v<decltype(f), decltype(a)>);
    EXPECT_EQ(a.size() + b.size() + c.size() + d.size() + e.size() + f.size(), 12U);
}

TEST(vector_pi, has_no_effect_when_elements_throw_as_they_come_into_its_room) {
    struct fused {
        fused(int n, int* until) : number(n), left(until) {}
        fused(const fused& other) : number(other.number), left(other.left) {
            if (*left == 0)
                throw std::runtime_error("injected");
            --*left;
        }
        fused(fused&& other) noexcept = default;
        fused& operator=(const fused&) = default;
        ~fused() = default;
        int number;
        int* left;
        std::shared_ptr<int> owned = std::make_shared<int>(3); // a leak shows
    };
    int left = 1 << 30;
    std::list<fused> list;
    for (int i = 0; i < 5; ++i)
        list.emplace_back(10 + i, &left);
    rem::vector_pi<fused, std::allocator<fused>> some;
    some.reserve(100);
    for (int i = 0; i < 7; ++i)
        some.emplace_back(i, &left);
    const auto numbers_of = [&] {
        std::vector<int> all;
        for (const fused& each : some)
            all.push_back(each.number);
        return all;
    };
    const std::vector<int> before = numbers_of();
    for (int fails_after = 0; fails_after < 5; ++fails_after) {
        const auto fails = [&](auto&& act) {
            left = fails_after;
            EXPECT_THROW(act(), std::runtime_error);
            left = 1 << 30;
            EXPECT_EQ(numbers_of(), before);
        };
        fails([&] { some.insert(some.begin() + 2, list.begin(), list.end()); });
        fails([&] { some.insert(some.begin() + 2, 5, some[3]); });
        fails([&] { some.append_range(list); });
        fails([&] { some.assign(list.begin(), list.end()); });
        fails([&] { some.assign(5, some[3]); });
        fails([&] { some.resize(12, some[3]); });
    }
    some.insert(some.begin() + 2, list.begin(), list.end());
    EXPECT_EQ(numbers_of(), (std::vector<int>{0, 1, 10, 11, 12, 13, 14, 2, 3, 4, 5, 6}));
    for (const fused& each : some)
        EXPECT_EQ(each.owned.use_count(), 1);
}

TEST(vector_pi, erases_what_equals_one_of_its_elements) {
    rem::vector_pi<std::string, std::allocator<std::string>> some{"a", "b", "a", "c", "a", "b"};
    EXPECT_EQ(erase(some, some[0]), 3U);
    EXPECT_EQ(some, (rem::vector_pi<std::string, std::allocator<std::string>>{"b", "c", "b"}));
    EXPECT_EQ(erase(some, some[2]), 2U);
    EXPECT_EQ(some.front(), "c");
}

} // namespace vector_pi_allocators_test
