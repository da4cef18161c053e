#include <remanence/types/detail/aggregate.hpp>

#include <gtest/gtest.h>

#include <any>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace aggregate_test {

using remanence::type_list;
using remanence::detail::aggregate_obstacle;
using remanence::detail::aggregate_shape_v;
using remanence::detail::flat_extent_v;
using remanence::detail::member_count_v;
using remanence::detail::member_types;
using remanence::detail::visit_members;

struct nothing {};
struct one {
    int a;
};
struct inner {
    int x, y;
    std::string z;
};
struct nested {
    inner a;
    int b;
    inner c;
};
struct arrays {
    int a;
    char name[16];
    double matrix[2][3];
    inner parts[2];
    inner last;
};
struct one_element_array {
    int a[1];
    int b[1][1];
};
class no_default {
public:
    explicit(false) no_default(int value) : value_(value) {}
    [[nodiscard]] int value() const { return value_; }

private:
    int value_;
};
class two_arguments {
public:
    two_arguments(int a, int b) : sum_(a + b) {}
    [[nodiscard]] int sum() const { return sum_; }

private:
    int sum_;
};
struct without_defaults {
    int a;
    no_default b[3];
    two_arguments c;
    two_arguments d[2];
    int e;
    no_default f;
};
struct explicit_default {
    explicit explicit_default() = default;
    explicit explicit_default(int) {}
    int value = 0;
};
struct explicit_defaults {
    int a;
    explicit_default b[3];
    explicit_default c;
    int d[2];
};
struct greedy {
    std::any a;
    std::function<void()> b;
    std::optional<int> c;
    std::optional<std::string> d;
    std::variant<int, double> e;
    std::variant<int> f;
    std::tuple<int> g;
    std::tuple<std::any> h;
    std::unique_ptr<int> i;
    std::shared_ptr<int> j;
    std::string k;
    std::string_view l;
    std::span<int> m;
    std::atomic<int> n;
    std::mutex o;
    std::map<int, std::vector<int>> p;
    std::any q[3];
    std::array<std::array<int, 2>, 3> r;
};
struct bit_fields {
    unsigned a : 3;
    unsigned b : 5;
    bool c : 1;
    long d;
};
enum class colour { red };
struct scalars {
    colour a;
    const char* b;
    int one::* c;
    void (*d)(int);
    std::nullptr_t e;
    long double f;
};
struct qualified {
    const int a;
    const std::string b;
    const char c[4];
};
struct base_1 {};
struct base_2 {};
struct on_empty : base_1, base_2 {
    int a;
    std::string b;
};
struct only_empty_bases : base_1, base_2 {};
struct on_full : inner {
    int a;
};
struct only_full : inner {};
struct anonymous_union {
    int kind;
    union {
        int number;
        double real;
    };
};
union number {
    int whole;
    double real;
};
struct named_union {
    int kind;
    number value;
};
struct many_32 {
    int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7,
        c8, c9, d0, d1;
};
struct many_33 {
    many_32 a;
    int b;
    int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7,
        c8, c9, d0;
};
struct many_elements {
    int a;
    char b[1000];
    int c;
};
struct too_many_elements {
    int a;
    char b[2000];
};
template <class T>
struct holder {
    T value;
    T* next;
};

template <class T, class... Members>
inline constexpr bool has_members_v = std::is_same_v<member_types<T>, type_list<Members...>>;
template <class T>
inline constexpr aggregate_obstacle obstacle_v = aggregate_shape_v<T>.obstacle;

static_assert(member_count_v<nothing> == 0 && has_members_v<nothing>);
static_assert(has_members_v<one, int>);
static_assert(has_members_v<inner, int, int, std::string>);
static_assert(has_members_v<nested, inner, int, inner>);
static_assert(has_members_v<arrays, int, char[16], double[2][3], inner[2], inner>);
static_assert(has_members_v<one_element_array, int[1], int[1][1]>);
static_assert(has_members_v<without_defaults, int, no_default[3], two_arguments, two_arguments[2], int, no_default>);
static_assert(has_members_v<explicit_defaults, int, explicit_default[3], explicit_default, int[2]>);
static_assert(member_count_v<greedy> == 18 && obstacle_v<greedy> == aggregate_obstacle::none);
static_assert(std::is_same_v<member_types<holder<greedy>>, type_list<greedy, greedy*>>);
static_assert(has_members_v<bit_fields, unsigned, unsigned, bool, long>);
static_assert(has_members_v<scalars, colour, const char*, int one::*, void (*)(int), std::nullptr_t, long double>);
static_assert(has_members_v<qualified, const int, const std::string, const char[4]>);
static_assert(has_members_v<on_empty, int, std::string> && aggregate_shape_v<on_empty>.bases == 2);
static_assert(has_members_v<only_empty_bases>);
static_assert(obstacle_v<on_full> == aggregate_obstacle::base);
static_assert(obstacle_v<only_full> == aggregate_obstacle::base);
static_assert(obstacle_v<anonymous_union> == aggregate_obstacle::union_member);
static_assert(obstacle_v<named_union> == aggregate_obstacle::union_member);
static_assert(member_count_v<many_32> == 32 && member_types<many_32>::k_size == 32);
static_assert(obstacle_v<many_33> == aggregate_obstacle::too_many);
static_assert(has_members_v<many_elements, int, char[1000], int>);
static_assert(obstacle_v<too_many_elements> == aggregate_obstacle::too_many);
static_assert(flat_extent_v<double[2][3]> == 6 && flat_extent_v<int> == 1);

TEST(aggregate, members_of_a_const_object_are_visited_in_place) {
    const nested object{{1, 2, "three"}, 4, {5, 6, "seven"}};
    visit_members(object, [&](auto& a, auto& b, auto& c) {
        EXPECT_EQ(&a, &object.a);
        EXPECT_EQ(&b, &object.b);
        EXPECT_EQ(&c, &object.c);
        static_assert(std::is_same_v<decltype(a), const inner&>);
    });
}

TEST(aggregate, members_of_an_rvalue_can_be_moved_from) {
    inner object{1, 2, "a text longer than any small buffer"};
    const std::string taken =
        visit_members(std::move(object), [](int&&, int&&, std::string&& z) { return std::string(std::move(z)); });
    EXPECT_EQ(taken, "a text longer than any small buffer");
    EXPECT_TRUE(object.z.empty()); // NOLINT(bugprone-use-after-move)
}

TEST(aggregate, arrays_arrive_as_arrays) {
    const arrays object{1, "name", {{1, 2, 3}, {4, 5, 6}}, {}, {}};
    visit_members(object,
                  [&](int, const char(&name)[16], const double(&matrix)[2][3], const auto& parts, const inner&) {
                      EXPECT_STREQ(name, "name");
                      EXPECT_EQ(matrix[1][2], 6);
                      EXPECT_EQ(std::size(parts), 2U);
                  });
}

TEST(aggregate, bit_fields_arrive_as_values) {
    const bit_fields object{5, 17, true, 9};
    const auto sum = [](const unsigned& a, const unsigned& b, const bool& c, const long& d) {
        return static_cast<long>(a + b) + (c ? 1 : 0) + d;
    };
    EXPECT_EQ(visit_members(object, sum), 32);
    EXPECT_EQ(visit_members(bit_fields(object), sum), 32);
}

TEST(aggregate, all_of_many_members_are_visited) {
    many_32 object{};
    object.a0 = 1;
    object.d1 = 2;
    EXPECT_EQ(visit_members(object, [](auto... each) { return (each + ...); }), 3);
}

} // namespace aggregate_test
