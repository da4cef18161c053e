#include "tagged_allocator.hpp"

#include <remanence/types/detail/construct.hpp>

#include <gtest/gtest.h>

#include <any>
#include <array>
#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>

namespace construct_test {

using tagged_test::arena;
using tagged_test::elsewhere;
using tagged_test::map;
using tagged_test::multimap;
using tagged_test::string;
using tagged_test::tagged;
using tagged_test::vector;
namespace detail = remanence::detail;

// Too long for the buffer that short strings have in themselves: those would hide where they belong.
constexpr const char* k_street = "1 Art of Programming Street";
constexpr const char* k_city = "Stanford in California";
constexpr const char* k_phone = "+1-650-555-0100 extension 7";

struct address {
    string street, city, phone;
    friend bool operator==(const address&, const address&) = default;
};
struct contact {
    int number;
    address home;
    address work;
};
struct with_arrays {
    int before;
    string lines[3];
    char code[5];
    string grid[2][2];
    std::array<string, 2> pair;
};
struct with_const {
    const string name;
    const int number;
};
struct with_defaults {
    string name = "a default longer than any small buffer";
    int number = 42;
    string other;
};
struct with_bits {
    unsigned low : 3;
    string name;
    int high : 5;
};
struct empty_base {};
struct another_empty_base {};
struct derived_of_empty : empty_base, another_empty_base {
    string name;
    int number;
};
struct with_immovable {
    string name;
    std::atomic<int> number;
};
struct with_unique {
    string name;
    std::unique_ptr<int> number;
};
struct tree {
    string name;
    vector<tree> children;
};
struct plain {
    int x;
    double y;
};
struct std_only {
    std::string name;
    std::any anything;
};

template <class T>
inline constexpr detail::composition kind_v = detail::composition_v<T, tagged<std::byte>>;
using detail::composition;
static_assert(kind_v<int> == composition::plain);
static_assert(kind_v<plain> == composition::plain);
static_assert(kind_v<std_only> == composition::plain);
static_assert(kind_v<std::string> == composition::plain);
static_assert(kind_v<std::pair<int, std::string>> == composition::plain);
static_assert(kind_v<std::tuple<int, std::string>> == composition::plain, "though std::uses_allocator says otherwise");
static_assert(kind_v<string> == composition::aware);
static_assert(kind_v<vector<plain>> == composition::aware);
static_assert(kind_v<address> == composition::aggregate);
static_assert(kind_v<const address> == composition::aggregate);
static_assert(kind_v<derived_of_empty> == composition::aggregate);
static_assert(kind_v<std::pair<const int, address>> == composition::pair);
static_assert(kind_v<std::array<string, 2>> == composition::array);
static_assert(kind_v<std::array<int, 2>> == composition::plain);

static_assert(detail::is_nothrow_constructible_using_v<int, tagged<std::byte>, int>);
static_assert(!detail::is_nothrow_constructible_using_v<string, tagged<std::byte>, string>,
              "a move may have to copy into the heap");

/// One object in raw memory, all its parts in an arena of its own.
template <class T>
class built {
public:
    template <class... Args>
    explicit built(Args&&... args) {
        detail::construct_using(object(), tagged<std::byte>(memory_), std::forward<Args>(args)...);
        alive_ = true;
    }
    built(const built&) = delete;
    built& operator=(const built&) = delete;
    ~built() {
        if (alive_)
            std::destroy_at(object());
        EXPECT_EQ(memory_.live, 0U);
    }

    T& operator*() { return *object(); }
    T* operator->() { return object(); }
    arena& memory() { return memory_; }
    template <class Container>
    [[nodiscard]] bool owns(const Container& part) const {
        return part.get_allocator().where == &memory_;
    }
    [[nodiscard]] bool owns(const address& part) const {
        return owns(part.street) && owns(part.city) && owns(part.phone);
    }

private:
    T* object() { return std::launder(reinterpret_cast<T*>(raw_)); }

    arena memory_;
    alignas(T) std::byte raw_[sizeof(T)]{};
    bool alive_ = false;
};

class construct : public testing::Test {
protected:
    void SetUp() override { elsewhere = arena(); }
    void TearDown() override {
        EXPECT_EQ(elsewhere.live, 0U);
        tagged_test::current = &elsewhere;
    }
    static address foreign_address() { return {k_street, k_city, k_phone}; }
};

TEST_F(construct, copies_an_aggregate_built_elsewhere_whole) {
    const address source = foreign_address();
    built<address> copy(source);
    EXPECT_TRUE(copy.owns(*copy));
    EXPECT_EQ(*copy, source);
    EXPECT_EQ(copy.memory().live, 3U);
}

TEST_F(construct, copies_from_a_non_const_lvalue_as_from_a_const_one) {
    address source = foreign_address();
    built<address> copy(source);
    EXPECT_TRUE(copy.owns(*copy));
    EXPECT_EQ(source.street, k_street);
}

TEST_F(construct, moves_in_an_aggregate_built_elsewhere_by_copying_its_parts) {
    built<address> moved(foreign_address());
    EXPECT_TRUE(moved.owns(*moved));
    EXPECT_EQ(moved->phone, k_phone);
}

TEST_F(construct, moves_an_aggregate_of_the_same_arena_without_allocating) {
    built<address> first(k_street, k_city, k_phone);
    const std::size_t before = first.memory().allocations;
    alignas(address) std::byte raw[sizeof(address)];
    auto* second = reinterpret_cast<address*>(raw);
    detail::construct_using(second, tagged<std::byte>(first.memory()), std::move(*first));
    EXPECT_EQ(first.memory().allocations, before);
    EXPECT_EQ(second->street, k_street);
    std::destroy_at(second);
}

TEST_F(construct, takes_the_values_of_an_aggregates_members) {
    built<address> object(k_street, std::string(k_city), std::string_view(k_phone));
    EXPECT_TRUE(object.owns(*object));
    EXPECT_EQ(*object, foreign_address());
    EXPECT_EQ(object.memory().allocations, 3U) << "each part is built once, in its place";
}

TEST_F(construct, value_initialises_the_members_left_out) {
    built<address> object(k_street);
    EXPECT_TRUE(object.owns(*object));
    EXPECT_EQ(object->street, k_street);
    EXPECT_EQ(object->phone, "");

    built<contact> nothing;
    EXPECT_EQ(nothing->number, 0);
    EXPECT_TRUE(nothing.owns(nothing->home) && nothing.owns(nothing->work));
}

TEST_F(construct, keeps_default_member_initialisers) {
    built<with_defaults> object;
    EXPECT_EQ(object->name, "a default longer than any small buffer");
    EXPECT_EQ(object->number, 42);
    EXPECT_TRUE(object.owns(object->name) && object.owns(object->other));
}

TEST_F(construct, goes_through_nested_aggregates) {
    const contact source{7, foreign_address(), foreign_address()};
    built<contact> copy(source);
    EXPECT_TRUE(copy.owns(copy->home) && copy.owns(copy->work));
    EXPECT_EQ(copy->work, source.work);
    EXPECT_EQ(copy->number, 7);

    built<contact> from_values(8, foreign_address(), source.work);
    EXPECT_TRUE(from_values.owns(from_values->home) && from_values.owns(from_values->work));
}

TEST_F(construct, goes_through_arrays_of_any_dimension) {
    with_arrays source{
        1, {k_street, k_city, k_phone}, "code", {{k_street, k_city}, {k_phone, k_street}}, {{k_city, k_phone}}};
    const auto check = [&](built<with_arrays>& object) {
        EXPECT_EQ(object->before, 1);
        EXPECT_STREQ(object->code, "code");
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_TRUE(object.owns(object->lines[i]));
        EXPECT_EQ(object->lines[2], k_phone);
        for (const auto& row : object->grid) {
            for (const string& cell : row)
                EXPECT_TRUE(object.owns(cell));
        }
        EXPECT_EQ(object->grid[1][0], k_phone);
        EXPECT_TRUE(object.owns(object->pair[0]) && object.owns(object->pair[1]));
        EXPECT_EQ(object->pair[1], k_phone);
    };
    built<with_arrays> copy(std::as_const(source));
    check(copy);
    built<with_arrays> moved(std::move(source));
    check(moved);
    built<with_arrays> empty;
    EXPECT_TRUE(empty.owns(empty->grid[1][1]));
    EXPECT_STREQ(empty->code, "");
}

TEST_F(construct, goes_through_const_members) {
    const with_const source{k_street, 3};
    built<with_const> copy(source);
    EXPECT_TRUE(copy.owns(copy->name));
    built<with_const> values(k_city, 4);
    EXPECT_TRUE(values.owns(values->name));
    EXPECT_EQ(values->number, 4);
}

TEST_F(construct, goes_past_bit_fields) {
    const with_bits source{5, k_street, -3};
    built<with_bits> copy(source);
    built<with_bits> moved(with_bits{5, k_street, -3});
    EXPECT_TRUE(copy.owns(copy->name) && moved.owns(moved->name));
    EXPECT_EQ(copy->low, 5U);
    EXPECT_EQ(copy->high, -3);
    EXPECT_EQ(moved->high, -3);
}

TEST_F(construct, goes_past_empty_bases) {
    derived_of_empty source{{}, {}, k_street, 9};
    built<derived_of_empty> copy(source);
    EXPECT_TRUE(copy.owns(copy->name));
    EXPECT_EQ(copy->name, k_street);
    EXPECT_EQ(copy->number, 9);
}

TEST_F(construct, makes_members_that_cannot_move_in_place) {
    built<with_immovable> object(k_street, 5);
    EXPECT_TRUE(object.owns(object->name));
    EXPECT_EQ(object->number, 5);
    built<with_immovable> nothing;
    EXPECT_EQ(nothing->number, 0);
}

TEST_F(construct, moves_members_that_cannot_be_copied) {
    built<with_unique> object(with_unique{k_street, std::make_unique<int>(3)});
    EXPECT_TRUE(object.owns(object->name));
    EXPECT_EQ(*object->number, 3);
}

TEST_F(construct, goes_through_recursive_types) {
    tree source{k_street, {}};
    source.children.push_back(tree{k_city, {}});
    source.children[0].children.push_back(tree{k_phone, {}});
    built<tree> copy(source);
    EXPECT_TRUE(copy.owns(copy->name) && copy.owns(copy->children));
    EXPECT_TRUE(copy.owns(copy->children[0].name));
    EXPECT_TRUE(copy.owns(copy->children[0].children[0].name));
    EXPECT_EQ(copy->children[0].children[0].name, k_phone);
}

TEST_F(construct, goes_through_pairs) {
    using entry = std::pair<const string, std::pair<string, address>>;
    const entry source{k_street, {k_city, foreign_address()}};
    built<entry> copy(source);
    EXPECT_TRUE(copy.owns(copy->first) && copy.owns(copy->second.first) && copy.owns(copy->second.second));
    EXPECT_EQ(*copy, source);

    built<entry> values(k_street, std::pair(k_city, foreign_address()));
    EXPECT_TRUE(values.owns(values->first) && values.owns(values->second.first) && values.owns(values->second.second));
    EXPECT_EQ(*values, source);

    built<entry> piecewise(std::piecewise_construct, std::forward_as_tuple(k_street), std::tuple<>());
    EXPECT_TRUE(piecewise.owns(piecewise->first) && piecewise.owns(piecewise->second.second));

    built<std::pair<string, address>> of_values(std::piecewise_construct, std::forward_as_tuple(20U, 'x'),
                                                std::forward_as_tuple(k_street, k_city, k_phone));
    EXPECT_EQ(of_values->first, "xxxxxxxxxxxxxxxxxxxx");
    EXPECT_TRUE(of_values.owns(of_values->second));
    built<entry> nothing;
    EXPECT_TRUE(nothing.owns(nothing->first) && nothing.owns(nothing->second.second.city));
}

TEST_F(construct, makes_a_pair_from_what_converts_to_it) {
    struct source {
        // NOLINTNEXTLINE(google-explicit-constructor)
        operator std::pair<string, address>() const { return {k_city, foreign_address()}; }
    };
    built<std::pair<string, address>> object(source{});
    EXPECT_TRUE(object.owns(object->first) && object.owns(object->second));
}

TEST_F(construct, makes_an_aggregate_from_what_converts_to_it) {
    struct source {
        // NOLINTNEXTLINE(google-explicit-constructor)
        operator address() const { return foreign_address(); }
    };
    built<address> object(source{});
    EXPECT_TRUE(object.owns(*object));
    EXPECT_EQ(*object, foreign_address());
}

TEST_F(construct, goes_through_tuples) {
    using row = std::tuple<string, int, address>;
    const row source(k_street, 5, foreign_address());
    built<row> copy(source);
    EXPECT_TRUE(copy.owns(std::get<0>(*copy)) && copy.owns(std::get<2>(*copy)));
    EXPECT_EQ(*copy, source);
    built<row> values(k_street, 5, foreign_address());
    EXPECT_TRUE(values.owns(std::get<0>(*values)) && values.owns(std::get<2>(*values)));
    EXPECT_EQ(*values, source);
    built<row> nothing;
    EXPECT_TRUE(nothing.owns(std::get<2>(*nothing)));
}

TEST_F(construct, goes_through_optionals) {
    using maybe = std::optional<address>;
    built<maybe> copy(maybe{foreign_address()});
    EXPECT_TRUE(copy.owns(**copy));
    EXPECT_EQ(**copy, foreign_address());
    built<maybe> value(foreign_address());
    EXPECT_TRUE(value.owns(**value));
    built<maybe> in_place(std::in_place, k_street, k_city, k_phone);
    EXPECT_TRUE(in_place.owns(**in_place));
    built<maybe> empty(maybe{});
    EXPECT_FALSE(empty->has_value());
    built<maybe> nothing(std::nullopt);
    EXPECT_FALSE(nothing->has_value());

    built<std::optional<string>> text(k_street);
    EXPECT_TRUE(text.owns(**text));
    EXPECT_EQ(text.memory().allocations, 1U);
}

TEST_F(construct, goes_through_variants) {
    using either = std::variant<int, string, address>;
    built<either> copy(either{foreign_address()});
    EXPECT_TRUE(copy.owns(std::get<address>(*copy)));
    const either text{std::in_place_type<string>, k_street};
    built<either> of_text(text);
    EXPECT_TRUE(of_text.owns(std::get<string>(*of_text)));
    built<either> number(either(3));
    EXPECT_EQ(std::get<int>(*number), 3);
    built<either> value(foreign_address());
    EXPECT_TRUE(value.owns(std::get<address>(*value)));
    built<either> indexed(std::in_place_index<1>, k_street);
    EXPECT_TRUE(indexed.owns(std::get<1>(*indexed)));
}

TEST_F(construct, leaves_nothing_behind_when_a_part_fails) {
    const contact source{7, foreign_address(), foreign_address()};
    arena memory;
    alignas(contact) std::byte raw[sizeof(contact)];
    auto* object = reinterpret_cast<contact*>(raw);
    bool done = false;
    std::size_t failures = 0;
    for (std::size_t n = 0; !done; ++n) {
        memory.fail_after = n;
        try {
            detail::construct_using(object, tagged<std::byte>(memory), source);
            done = true;
            std::destroy_at(object);
        } catch (const std::bad_alloc&) {
            ++failures;
        }
        EXPECT_EQ(memory.live, 0U);
    }
    EXPECT_EQ(failures, 6U);
}

// Containers whose allocator constructs this way.

class in_containers : public construct {
protected:
    template <class Container>
    bool owns(const Container& part) const {
        return part.get_allocator().where == &memory_;
    }
    bool owns(const address& part) const { return owns(part.street) && owns(part.city) && owns(part.phone); }

    arena memory_;
    tagged<std::byte> here_{memory_};
};

TEST_F(in_containers, emplace_brings_key_and_value_in) {
    multimap<string, address> people(here_);
    people.emplace("KNUTH, a name that is long enough", foreign_address());
    people.insert({string("DIJKSTRA, a name that is long enough"), foreign_address()});
    const std::pair<const string, address> entry(k_street, foreign_address());
    people.insert(entry);
    for (const auto& [name, where] : people) {
        EXPECT_TRUE(owns(name) && owns(where));
        EXPECT_EQ(where, foreign_address());
    }
    EXPECT_EQ(elsewhere.live, 4U) << "only what this test holds itself";
}

TEST_F(in_containers, nested_maps_work_by_index) {
    map<string, map<string, address>> places(here_);
    places[string(k_city)][string(k_street)] = foreign_address();
    places[string(k_city)].try_emplace(string(k_phone), k_street, k_city, k_phone);
    auto& inner = places.begin()->second;
    EXPECT_TRUE(owns(places.begin()->first) && owns(inner));
    ASSERT_EQ(inner.size(), 2U);
    for (const auto& [key, value] : inner) {
        EXPECT_TRUE(owns(key) && owns(value));
        EXPECT_EQ(value, foreign_address());
    }

    map<string, vector<string>> lists(here_);
    lists[string(k_city)].push_back(string(k_street));
    lists[string(k_city)].emplace_back(k_phone);
    lists[string(k_city)].insert(lists.begin()->second.begin(), 3, string(k_city));
    for (const string& text : lists.begin()->second)
        EXPECT_TRUE(owns(text));

    map<string, string> texts(here_);
    texts[string(k_city)] = k_street;
    texts.insert_or_assign(string(k_phone), string(k_street));
    for (const auto& [key, value] : texts)
        EXPECT_TRUE(owns(key) && owns(value));
}

TEST_F(in_containers, a_vector_keeps_its_elements_home_when_it_grows) {
    vector<address> list(here_);
    for (int i = 0; i < 100; ++i)
        list.push_back(foreign_address());
    list.insert(list.begin() + 10, foreign_address());
    list.erase(list.begin());
    list.resize(200);
    list.emplace_back(k_street, k_city, k_phone);
    for (const address& each : list)
        EXPECT_TRUE(owns(each));
}

template <class Container>
void expect_whole_copies(Container source, arena& memory, const auto& check) {
    tagged<std::byte> here{memory};
    const Container copy(source, here);
    check(copy);
    const Container moved(std::move(source), here);
    check(moved);
    Container assigned(here);
    assigned = copy;
    check(assigned);
    Container foreign(copy);
    assigned = std::move(foreign);
    check(assigned);
}

TEST_F(in_containers, copies_and_moves_between_arenas_are_whole) {
    const auto check = [this](const auto& container) {
        EXPECT_TRUE(owns(container));
        EXPECT_EQ(container.size(), 2U);
        for (const auto& element : container) {
            if constexpr (requires { element.second; }) {
                EXPECT_TRUE(owns(element.first) && owns(element.second));
            } else {
                EXPECT_TRUE(owns(element));
            }
        }
    };
    const address a = foreign_address();
    expect_whole_copies(vector<address>({a, a}), memory_, check);
    expect_whole_copies(std::deque<address, tagged<address>>({a, a}), memory_, check);
    expect_whole_copies(std::list<address, tagged<address>>({a, a}), memory_, check);
    expect_whole_copies(multimap<string, address>({{k_city, a}, {k_city, a}}), memory_, check);
    using entry = std::pair<const string, address>;
    struct text_hash {
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    expect_whole_copies(
        std::unordered_map<string, address, text_hash, std::equal_to<>, tagged<entry>>({{k_city, a}, {k_phone, a}}),
        memory_, check);
    EXPECT_EQ(memory_.live, 0U);
}

TEST_F(in_containers, take_types_that_only_move) {
    vector<with_unique> list(here_);
    for (int i = 0; i < 10; ++i)
        list.push_back(with_unique{k_street, std::make_unique<int>(i)});
    EXPECT_TRUE(owns(list[9].name));
    vector<std::unique_ptr<int>> pointers(here_);
    pointers.push_back(std::make_unique<int>(1));
    map<int, std::unique_ptr<int>> by_number(here_);
    by_number[3] = std::make_unique<int>(4);
    EXPECT_EQ(*by_number[3], 4);
}

} // namespace construct_test
