#include "base/units.hpp"
#include "support/seed.hpp"
#include "types/schema_table.hpp"
#include "types/type_description.hpp"
#include "types/type_difference.hpp"

#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace schema_test {

enum class colour : unsigned char { red, green = 5, blue };
enum old_style { k_before = -3, k_after = 100 };
struct point {
    double x, y;
};
struct node {
    int value;
    node* next;
};
struct base {
    int of_base;
};
class account : public base {
public:
    account() = default;
    [[nodiscard]] int number() const { return number_ + level_; }

private:
    int number_ = 0;
    unsigned level_ : 4 = 1;
    point at_ = {};
    REM_REFLECT((base), number_, level_, at_);
};
struct derived : account {
    int more = 0;
};
struct nothing {};
struct nothing_else {};
/// Its last 3 bytes are padding, which others may use.
class padded {
public:
    padded() = default;
    [[nodiscard]] int sum() const { return number_ + letter_; }

private:
    int number_ = 0;
    char letter_ = 0;
    REM_REFLECT((), number_, letter_);
};
class in_padding : public padded {
public:
    in_padding() = default;
    [[nodiscard]] int all() const { return sum() + more_; }

private:
    char more_ = 0;
    REM_REFLECT((padded), more_);
};
class two_bases : public in_padding, public nothing, public base {
public:
    two_bases() = default;
    [[nodiscard]] int all_of_it() const { return all() + of_base + bits_ + last_; }

private:
    unsigned bits_ : 3 = 1;
    char last_ = 0;
    REM_REFLECT((in_padding, nothing, base), bits_, last_);
};
struct packed_in {
    [[no_unique_address]] nothing first;
    [[no_unique_address]] padded second;
    char in_its_padding = 0;
    [[no_unique_address]] nothing third;
    [[no_unique_address]] std::optional<int> fourth;
    char behind = 0;
    nothing fifth;
    unsigned bits : 5 = 0;
    char last = 0;
};
class with_union {
public:
    with_union() : word_(0) {}
    [[nodiscard]] long word() const { return word_; }

private:
    union {
        long word_;
        char bytes_[8];
        int half_;
    };
    remanence::string text_;
    REM_REFLECT((), word_, bytes_, half_, text_);
};
struct two_texts {
    remanence::string first;
    remanence::string second;
};
struct two_links {
    remanence::string_pi first;
    remanence::string_pi second;
};
struct in_room {
    long first[4];
    remanence::string_pi second;
    unsigned bits : 3 = 0; // which have no place, and so leave room
};
template <int N>
struct record {
    int id;
    double weight;
    remanence::string name, street;
    remanence::vector<point> way;
    record* next;
    std::uint64_t flags[4];
    colour shade;
    bool is_open;
    remanence::btree_map<int, remanence::string> by_number;
};
template <class Indices>
struct many;
template <std::size_t... I>
struct many<std::index_sequence<I...>> {
    using type = std::tuple<record<I>...>;
};

} // namespace schema_test

namespace remanence::types {
namespace {

using namespace schema_test;

template <class T>
std::string encoded_schema_of() {
    detail::structure_writer out;
    detail::write_structure<T>(out);
    return std::move(out).schema();
}

template <class T>
type_description schema_of_type() {
    return type_description::decode(encoded_schema_of<T>(), row_contents::schema).value();
}

const type_row* row_named(const type_description& all, std::string_view name) {
    for (const type_row& row : all.rows) {
        if (row.name == name)
            return &row;
    }
    return nullptr;
}

TEST(reflect, says_names_and_places_of_members) {
    static_assert(reflect<point>.size == 16 && reflect<point>.member_count == 2);
    static_assert(reflect<point>.is_position_independent && !reflect<node>.is_position_independent);
    const auto members = reflect<point>.members();
    EXPECT_EQ(members[0].name, "x");
    EXPECT_EQ(members[1].name, "y");
    EXPECT_EQ(members[1].offset, 8U);
    EXPECT_EQ(reflect<point>.name(), "schema_test::point");
    EXPECT_EQ(reflect<node*>.element(), &reflect<node>);
    EXPECT_EQ(reflect<int[3]>.extent, 3U);
    EXPECT_EQ(reflect<string>.kind, type_kind_of::container);
}

TEST(reflect, says_enumerators) {
    const auto all = reflect<colour>.enumerators();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[1].name, "green");
    EXPECT_EQ(all[1].value, 5);
    const auto old = reflect<old_style>.enumerators();
    ASSERT_EQ(old.size(), 2U);
    EXPECT_EQ(old[0].name, "k_before");
    EXPECT_EQ(old[0].value, -3);
}

TEST(reflect, says_what_a_class_says_of_private_members_bases_and_bit_fields) {
    const auto members = reflect<account>.members();
    ASSERT_EQ(members.size(), 4U);
    EXPECT_EQ(reflect<account>.base_count, 1U);
    EXPECT_EQ(members[0].name, "");
    EXPECT_EQ(members[0].offset, 0U);
    EXPECT_EQ(members[1].name, "number_");
    EXPECT_EQ(members[1].offset, 4U);
    EXPECT_EQ(members[2].name, "level_");
    EXPECT_EQ(members[2].offset, std::nullopt);
    EXPECT_EQ(members[3].offset, 16U);
    EXPECT_EQ(reflect<derived>.member_count, 0U) << "what a base says is not said of the derived class";
}

TEST(schema, says_more_than_the_fingerprint_which_stays_as_it_was) {
    const type_description schema = schema_of_type<account>();
    const type_row* const row = row_named(schema, "schema_test::account");
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->kind, type_kind::object) << "to the fingerprint it hides its members";
    ASSERT_EQ(row->fields.size(), 4U);
    EXPECT_EQ(schema.name_of(row->fields[3].type), "schema_test::point");
    EXPECT_NE(row_named(schema, "schema_test::point"), nullptr);
    const auto described = type_description::decode(detail::fingerprint_of<account>().description);
    EXPECT_EQ(row_named(*described, "schema_test::point"), nullptr);
    EXPECT_NE(detail::fingerprint_of<account>().classes_hash, 0U);
    EXPECT_EQ(detail::fingerprint_of<point>().classes_hash, 0U);
}

TEST(schema, of_every_shape_is_sound) {
    EXPECT_TRUE(is_sound_schema(schema_of_type<account>()));
    EXPECT_TRUE(is_sound_schema(schema_of_type<node>()));
    EXPECT_TRUE(is_sound_schema(
        schema_of_type<std::tuple<string, vector<int>, deque<point>, list<int>, forward_list<int>, map<int, point>,
                                  set<int>, unordered_map<string, int>, unordered_set<int>>>()));
    EXPECT_TRUE(
        is_sound_schema(schema_of_type<std::tuple<btree_map<string_pi, point>, btree_set<int>, hash_map<int, string_pi>,
                                                  hash_set<string>, vector_pi<int>>>()));
    EXPECT_TRUE(is_sound_schema(schema_of_type<std::tuple<std::optional<int>, std::variant<int, string>,
                                                          std::array<int, 3>, std::atomic<int>, colour, old_style>>()));
}

TEST(schema, with_bases_and_members_in_padding_is_sound) {
    static_assert(sizeof(in_padding) == sizeof(padded), "or the case is none");
    EXPECT_TRUE(is_sound_schema(schema_of_type<in_padding>()));
    EXPECT_TRUE(is_sound_schema(schema_of_type<two_bases>()));
    EXPECT_TRUE(is_sound_schema(schema_of_type<packed_in>()));
    EXPECT_TRUE(is_sound_schema(schema_of_type<std::tuple<nothing, int, nothing_else, padded, char, nothing>>()));
    EXPECT_TRUE(is_sound_schema(schema_of_type<std::pair<nothing, nothing>>()));
    EXPECT_TRUE(is_sound_schema(schema_of_type<std::array<nothing, 3>>()));
}

TEST(schema, with_numbers_of_a_union_is_sound) {
    type_description schema = schema_of_type<with_union>();
    EXPECT_TRUE(is_sound_schema(schema));
    type_row& row = schema.rows[schema.root];
    ASSERT_EQ(row.fields.size(), 4U);
    row.fields[3].offset = 0; // the text
    EXPECT_FALSE(is_sound_schema(schema));
}

TEST(schema, of_a_hundred_structs_takes_16_KiB_at_most) {
    const std::string encoded = encoded_schema_of<many<std::make_index_sequence<100>>::type>();
    RecordProperty("bytes", std::to_string(encoded.size()));
    EXPECT_FALSE(encoded.empty());
    EXPECT_LE(encoded.size(), 16 * KiB);
}

TEST(schema, that_holds_itself_by_value_is_refused) {
    type_description circle = schema_of_type<node>();
    for (type_row& row : circle.rows) {
        if (row.kind == type_kind::members)
            row.parts[0] = {.name = "itself", .offset = 0, .type = circle.root};
    }
    EXPECT_FALSE(is_sound_schema(circle));
}

TEST(schema, with_parts_outside_their_objects_is_refused) {
    type_description wide = schema_of_type<point>();
    for (type_row& row : wide.rows) {
        if (row.kind == type_kind::members)
            row.parts[1].offset = 9;
    }
    EXPECT_FALSE(is_sound_schema(wide));
    type_description text = schema_of_type<string>();
    text.rows[text.root].numbers[1] = 33;
    EXPECT_FALSE(is_sound_schema(text));
    text.rows[text.root].numbers.pop_back();
    EXPECT_FALSE(is_sound_schema(text));
}

TEST(schema, with_members_that_lie_in_each_other_is_refused) {
    const auto is_sound_with = []<class T>(std::type_identity<T>, std::uint64_t offset) {
        type_description schema = schema_of_type<T>();
        type_row& row = schema.rows[schema.root];
        (row.fields.empty() ? row.parts : row.fields)[1].offset = offset;
        return is_sound_schema(schema);
    };
    EXPECT_TRUE(is_sound_with(std::type_identity<two_texts>(), sizeof(string)));
    EXPECT_FALSE(is_sound_with(std::type_identity<two_texts>(), 0));
    EXPECT_FALSE(is_sound_with(std::type_identity<two_texts>(), 8));
    EXPECT_FALSE(is_sound_with(std::type_identity<two_texts>(), sizeof(string) - 8));
    EXPECT_FALSE(is_sound_with(std::type_identity<two_links>(), sizeof(string_pi) - 1));
    EXPECT_FALSE(is_sound_with(std::type_identity<in_room>(), 33)) << "no compiler puts it there";
    EXPECT_TRUE(is_sound_with(std::type_identity<in_room>(), 40));
    EXPECT_FALSE(is_sound_with(std::type_identity<node>(), 4)) << "likewise";
    EXPECT_FALSE(is_sound_with(std::type_identity<point>(), 1));
    EXPECT_FALSE(is_sound_with(std::type_identity<in_padding>(), 4)) << "the last member of the base";
    EXPECT_TRUE(is_sound_with(std::type_identity<in_padding>(), 6)) << "its padding";
    EXPECT_FALSE(is_sound_with(std::type_identity<std::pair<string, string>>(), 8));
}

TEST(schema, whose_containers_do_not_fit_themselves_is_refused) {
    const auto is_sound_with = []<class T>(std::type_identity<T>, std::size_t number, std::uint64_t value) {
        type_description schema = schema_of_type<T>();
        schema.rows[schema.root].numbers.at(number) = value;
        return is_sound_schema(schema);
    };
    EXPECT_FALSE(is_sound_with(std::type_identity<string>(), 1, 8)) << "the address is its length";
    EXPECT_FALSE(is_sound_with(std::type_identity<vector<int>>(), 1, 8)) << "its begin is its end";
    EXPECT_FALSE(is_sound_with(std::type_identity<vector_pi<int>>(), 1, 8));
    EXPECT_FALSE(is_sound_with(std::type_identity<deque<int>>(), 1, 24 + 8));
    EXPECT_FALSE(is_sound_with(std::type_identity<std::optional<int>>(), 0, 3)) << "the mark lies in the value";
    EXPECT_FALSE(is_sound_with(std::type_identity<std::variant<int, string>>(), 0, 3));
    EXPECT_FALSE(is_sound_with(std::type_identity<btree_set<long>>(), 3, 4)) << "a slot is smaller than an element";
    EXPECT_FALSE(is_sound_with(std::type_identity<btree_set<long>>(), 0, 60'000)) << "slots lie in the children";
    EXPECT_FALSE(is_sound_with(std::type_identity<hash_map<long, long>>(), 0, 8));
}

TEST(schema, whose_bytes_are_damaged_is_refused_or_is_another_sound_one) {
    const std::string good = encoded_schema_of<record<1>>();
    std::mt19937 random(test::seed_or(1));
    std::size_t refused = 0;
    for (int i = 0; i != 20'000; ++i) {
        std::string bad = good;
        bad[random() % bad.size()] = static_cast<char>(random());
        if (random() % 4 == 0)
            bad.resize(random() % bad.size());
        const auto read = type_description::decode(bad, row_contents::schema);
        if (!read || !is_sound_schema(*read))
            ++refused;
        else
            EXPECT_FALSE(read->name_of(read->root).empty());
    }
    EXPECT_GT(refused, 10'000U);
}

TEST(schema, tells_how_the_members_of_a_class_changed) {
    const type_description was = schema_of_type<account>();
    type_description is = was;
    for (type_row& row : is.rows) {
        if (!row.fields.empty())
            row.fields[1].name = "serial_";
    }
    const auto difference = difference_between(with_own_members(was), with_own_members(is));
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->what, "member 2 of schema_test::account was \"int number_\", is \"int serial_\"");
    EXPECT_FALSE(difference_between(with_own_members(was), with_own_members(was)));
}

} // namespace
} // namespace remanence::types
