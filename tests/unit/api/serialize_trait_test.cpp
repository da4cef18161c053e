// Values become bytes and values again; bytes that are wrong are refused.

#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <cmath>
#include <deque>
#include <forward_list>
#include <limits>
#include <list>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <stack>
#include <tuple>
#include <unordered_map>
#include <variant>

namespace remanence::test {
namespace serialized_values {
namespace {

enum class color : std::uint8_t { red, green };

struct nothing {
    bool operator==(const nothing&) const = default;
};
struct inner {
    std::string text;
    int grid[2][2] = {};
    bool operator==(const inner&) const = default;
};
struct packed {
    unsigned low : 3 = 0;
    unsigned high : 5 = 0;
    const int fixed = 0;
    bool operator==(const packed&) const = default;
};
struct record {
    color paint = color::red;
    nothing none;
    inner part;
    std::map<std::string, std::vector<inner>> parts;
    std::optional<double> weight;
    std::variant<std::monostate, int, std::string> choice;
    std::tuple<bool, std::array<char, 3>, long double> more;
    bool operator==(const record&) const = default;
};
struct tree {
    std::vector<tree> branches;
    bool operator==(const tree&) const = default;
};
struct unordered_tree {
    std::unordered_map<int, unordered_tree> branches;
    bool operator==(const unordered_tree&) const = default;
};

struct with_empty_base : nothing {
    std::string text;
    bool operator==(const with_empty_base&) const = default;
};
struct with_base : inner {};
template <class T>
inline constexpr bool is_serialised_v = serializes<serialize_trait<T>, T>;
static_assert(!is_serialised_v<std::stack<int>> && !is_serialised_v<std::queue<int>> &&
              !is_serialised_v<std::priority_queue<int>> && !is_serialised_v<with_base>);

void grow(tree& above, tree&& below) { above.branches.push_back(std::move(below)); }
void grow(unordered_tree& above, unordered_tree&& below) { above.branches.emplace(1, std::move(below)); }
template <class Tree>
Tree chain(int levels) {
    Tree deep;
    for (int level = 1; level < levels; ++level) {
        Tree above;
        grow(above, std::move(deep));
        deep = std::move(above);
    }
    return deep;
}

template <class T>
std::string to_bytes(const T& value) {
    return detail::bytes_of<serialize_trait<T>>(value);
}
template <class T>
T from_bytes(std::string_view bytes) {
    return detail::value_of<serialize_trait<T>>(bytes);
}
template <class T>
void expect_same(const T& value) {
    const std::string bytes = to_bytes(value);
    EXPECT_FALSE(bytes.empty());
    EXPECT_EQ(from_bytes<T>(bytes), value);
    EXPECT_EQ(to_bytes(from_bytes<T>(bytes)), bytes);
}

template <class T>
bool are_corrupt(std::string_view bytes) {
    const auto got = error_of([&] { (void)from_bytes<T>(bytes); });
    return got && got->code == errc::corrupt;
}

record sample() {
    return {.paint = color::green,
            .none = {},
            .part = {"inner", {{1, 2}, {3, 4}}},
            .parts = {{"a", {{"x", {}}, {"y", {}}}}, {"", {}}},
            .weight = 0.5,
            .choice = "chosen",
            .more = {true, {'a', 'b', 'c'}, 1.25L}};
}

TEST(serialize_trait, gives_back_what_it_was_given) {
    expect_same(std::numeric_limits<std::int64_t>::min());
    expect_same(-0.25F);
    expect_same(std::string(300, 'x'));
    expect_same(std::string("with\0zero", 9));
    expect_same(std::u32string(U"wide"));
    expect_same(std::vector<bool>{true, false, true});
    expect_same(std::deque<std::string>{"b", "a"});
    expect_same(std::list<int>{3, 1, 2});
    expect_same(std::forward_list<std::string>{"one", "two", "three"});
    expect_same(std::set<std::string>{"b", "a"});
    expect_same(std::multimap<int, std::string>{{1, "first"}, {1, "second"}});
    expect_same(std::unordered_map<int, std::set<int>>{{1, {2}}, {2, {}}});
    expect_same(std::array<nothing, 0>());
    expect_same(std::vector<nothing>(5));
    expect_same(std::tuple<>());
    expect_same(std::pair<const int, std::string>(1, "one"));
    expect_same(packed{5, 17, 3});
    expect_same(nothing());
    expect_same(with_empty_base{{}, "text"});
    expect_same(record());
    expect_same(sample());
    expect_same(tree{{tree{}, tree{{tree{}}}}});
}

TEST(serialize_trait, of_equal_unordered_containers_writes_equal_bytes) {
    std::unordered_map<int, int> up;
    std::unordered_map<int, int> down;
    for (int i = 0; i < 100; ++i) {
        up[i] = i;
        down[99 - i] = 99 - i;
    }
    EXPECT_EQ(to_bytes(up), to_bytes(down));
}

TEST(serialize_trait, refuses_bytes_that_end_early_or_late) {
    const std::string bytes = to_bytes(sample());
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_TRUE(are_corrupt<record>(std::string_view(bytes).substr(0, length))) << length;
    EXPECT_TRUE(are_corrupt<record>(bytes + "x"));
}

TEST(serialize_trait, refuses_bytes_that_mean_nothing) {
    EXPECT_TRUE(are_corrupt<bool>("\2"));
    EXPECT_TRUE(are_corrupt<std::optional<int>>("\2"));
    EXPECT_TRUE((are_corrupt<std::variant<std::monostate, int>>(std::string_view("\2\0\0\0\0", 5))));
    EXPECT_TRUE(are_corrupt<std::set<char>>("\2aa"));
    EXPECT_TRUE(are_corrupt<std::string>("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));     // a count of 64 bits
    EXPECT_TRUE(are_corrupt<std::string>("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")); // and of more
    EXPECT_TRUE(are_corrupt<std::u32string>(std::string_view("\3aaaabbbb", 9)));
    EXPECT_TRUE(are_corrupt<std::vector<nothing>>("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));
    EXPECT_TRUE(are_corrupt<tree>(std::string(1'000'000, '\1'))); // each with one branch
}

TEST(serialize_trait, of_random_bytes_gives_a_value_or_an_error) {
    std::mt19937_64 random(test::seed_or(1));
    const std::string bytes = to_bytes(sample());
    int refused = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string changed = bytes;
        for (std::uint64_t changes = random() % 4 + 1; changes != 0; --changes)
            changed[random() % changed.size()] = static_cast<char>(random() % 256);
        const auto got = error_of([&] { (void)from_bytes<record>(changed); });
        ASSERT_TRUE(!got || got->code == errc::corrupt) << "round " << round << ": " << got->what;
        refused += got ? 1 : 0;
    }
    EXPECT_GT(refused, 1'000);
}

TEST(serialize_trait, refuses_values_that_could_not_be_read) {
    const auto check = [](auto kind) {
        using tree_type = decltype(kind);
        expect_same(chain<tree_type>(200));
        for (const int levels : {201, 250, 401}) {
            const auto got = error_of([&] { (void)to_bytes(chain<tree_type>(levels)); });
            ASSERT_TRUE(got) << levels;
            EXPECT_EQ(got->code, errc::invalid_argument);
        }
    };
    check(tree());
    check(unordered_tree());
}

} // namespace

struct untrue {
    std::size_t said = 0;
    std::size_t written = 0;
};

} // namespace serialized_values
} // namespace remanence::test

template <>
struct remanence::serialize_trait<remanence::test::serialized_values::untrue> {
    using untrue = test::serialized_values::untrue;
    static std::size_t size(const untrue& value) { return value.said; }
    static void serialize(const untrue& value, byte_writer& out) {
        for (std::size_t i = 0; i < value.written; ++i)
            out.put("x", 1);
    }
    static untrue deserialize(byte_reader& in) { return {in.left(), in.take(in.left()).size()}; }
};

namespace remanence::test {
namespace serialized_values {
namespace {

TEST(serialize_trait, of_a_user_is_held_to_its_size) {
    const auto code_of = [](const auto& value) {
        const auto got = error_of([&] { (void)to_bytes(value); });
        return got ? std::optional(got->code) : std::nullopt;
    };
    EXPECT_EQ(code_of(untrue{3, 3}), std::nullopt);
    EXPECT_EQ(code_of(untrue{3, 4}), errc::invalid_argument);
    EXPECT_EQ(code_of(untrue{3, 2}), errc::invalid_argument);
    EXPECT_EQ(code_of(std::vector<untrue>{{0, 0}}), errc::invalid_argument); // could not be counted when it is read
}

} // namespace
} // namespace serialized_values
} // namespace remanence::test
