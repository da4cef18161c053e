// The walk over old objects and what they become, by schemas of the test's own and a source without a heap.
#include "objects/pair_walk.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::objects {
namespace {

using detail::shape_kind;
using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

/// A schema whose rows get their numbers in the order in which they are added.
struct rows_by_hand : type_description {
    std::uint32_t add(type_row row) {
        rows.push_back(std::move(row));
        return static_cast<std::uint32_t>(rows.size() - 1);
    }
    std::uint32_t number(std::string name, std::uint64_t bytes) {
        return add({.kind = type_kind::object,
                    .name = std::move(name),
                    .size = bytes,
                    .alignment = bytes,
                    .shape = shape_kind::signed_number});
    }
    std::uint32_t of_parts(std::string name, shape_kind shape, std::initializer_list<std::uint32_t> parts,
                           std::vector<std::uint64_t> numbers) {
        type_row row{.kind = type_kind::object,
                     .name = std::move(name),
                     .size = 48,
                     .alignment = 8,
                     .shape = shape,
                     .numbers = std::move(numbers)};
        for (const std::uint32_t each : parts)
            row.parts.push_back({.type = each});
        return add(std::move(row));
    }
    std::uint32_t wrapper(std::string name, std::uint32_t of) {
        return of_parts(std::move(name), shape_kind::same_as_part, {of}, {0});
    }
    std::uint32_t optional(std::uint32_t of) {
        return of_parts("std::optional<" + name_of(of) + ">", shape_kind::optional, {of}, {8});
    }
    std::uint32_t sequence(std::uint32_t of) {
        return of_parts("std::vector<" + name_of(of) + ">", shape_kind::contiguous, {of}, {0, 8});
    }
    std::uint32_t map(std::uint32_t key, std::uint32_t value) {
        const std::uint32_t order = add({.kind = type_kind::plain, .name = "std::less<" + name_of(key) + ">"});
        return of_parts("std::map<" + name_of(key) + ", " + name_of(value) + ">", shape_kind::tree, {key, value, order},
                        {8, 16});
    }
    std::uint32_t structure(std::string name, std::vector<type_part> members) {
        return add({.kind = type_kind::object,
                    .name = std::move(name),
                    .size = 24,
                    .alignment = 8,
                    .shape = shape_kind::members,
                    .fields = std::move(members)});
    }
};

/// Members lie where the schema says. A container has two elements, at 100 and 200 bytes behind itself; keys lie a byte before them.
struct source_by_hand {
    static result<std::optional<object_place>> member(object_place of, const type_part& part) {
        return part.offset ? std::optional(object_place{part.type, of.at + *part.offset}) : std::nullopt;
    }
    result<std::optional<held_place>> held(object_place) const { return what_is_held; }
    result<void> for_each_element(object_place of, const object_source::visit_element& visit) const {
        for (const std::uint64_t at : {of.at + 100, of.at + 200}) {
            result<bool> more =
                visit(element_place{{value_row, at}, key_row.has_value(), {key_row.value_or(0), at - 1}});
            if (!more || !*more)
                return more ? result<void>() : more.error();
        }
        return {};
    }
    std::optional<held_place> what_is_held{};
    std::optional<std::uint32_t> key_row{}; // of a map
    std::uint32_t value_row = 0;
};

/// As "k 3@99 -> 2 #0": a key of row 3 at 99, the one of element 0, becomes one of row 2.
std::string told(const part_pair& each) {
    const char* const role = each.role == part_role::member    ? "."
                             : each.role == part_role::same    ? "="
                             : each.role == part_role::held    ? "?"
                             : each.role == part_role::key     ? "k"
                             : each.role == part_role::element ? "e"
                                                               : "*";
    const std::string from = each.is_new ? "new" : std::to_string(each.from.row) + '@' + std::to_string(each.from.at);
    const bool is_numbered = each.role == part_role::key || each.role == part_role::element;
    return std::string(role) + ' ' + from + " -> " + std::to_string(each.to) +
           (is_numbered ? " #" + std::to_string(each.index) : std::string());
}

using told_pairs = std::vector<std::string>;

told_pairs pairs_by_hand(source_by_hand source, const row_matching& rows, object_place from, std::uint32_t to) {
    told_pairs seen;
    EXPECT_TRUE(for_each_part_pair(source, rows, from, to, [&](const part_pair& each) -> result<void> {
        seen.push_back(told(each));
        return {};
    }));
    return seen;
}

TEST(pair_walk, gives_the_key_of_each_map_element_before_its_value) {
    rows_by_hand was;
    const std::uint32_t old_key = was.number("int", 4);
    const std::uint32_t old_value = was.number("short", 2);
    const std::uint32_t old_map = was.map(old_key, old_value);
    rows_by_hand is;
    const std::uint32_t new_value = is.number("long", 8);
    is.number("char", 1); // so that no row has the number that it had
    is.number("float", 4);
    const std::uint32_t new_key = is.number("int", 4);
    const std::uint32_t new_map = is.map(new_key, new_value);
    row_matching rows(was, is);
    ASSERT_TRUE(rows.match(old_map, new_map));
    EXPECT_EQ(pairs_by_hand({.key_row = old_key, .value_row = old_value}, rows, {old_map, 1000}, new_map),
              (told_pairs{"k 0@1099 -> 3 #0", "e 1@1100 -> 0 #0", "k 0@1199 -> 3 #1", "e 1@1200 -> 0 #1"}));
}

TEST(pair_walk, gives_members_in_their_new_order_and_says_which_are_new) {
    rows_by_hand was;
    const std::uint32_t old_number = was.number("int", 4);
    const std::uint32_t old_struct = was.structure("point", {{.name = "x", .offset = 0, .type = old_number},
                                                             {.name = "gone", .offset = 4, .type = old_number},
                                                             {.name = "y", .offset = 8, .type = old_number}});
    rows_by_hand is;
    is.number("char", 1);
    const std::uint32_t new_number = is.number("int", 4);
    const std::uint32_t new_struct = is.structure("point", {{.name = "y", .offset = 0, .type = new_number},
                                                            {.name = "z", .offset = 4, .type = new_number},
                                                            {.name = "x", .offset = 8, .type = new_number}});
    row_matching rows(was, is);
    ASSERT_TRUE(rows.match(old_struct, new_struct));
    EXPECT_EQ(pairs_by_hand({}, rows, {old_struct, 1000}, new_struct),
              (told_pairs{". 0@1008 -> 1", ". new -> 1", ". 0@1000 -> 1"}));
    source_by_hand source;
    std::vector<const type_part*> members;
    ASSERT_TRUE(
        for_each_part_pair(source, rows, {old_struct, 0}, new_struct, [&](const part_pair& each) -> result<void> {
            members.push_back(each.member);
            return {};
        }));
    const std::vector<type_part>& fields = is.rows[new_struct].fields;
    EXPECT_EQ(members, (std::vector<const type_part*>{&fields[0], &fields[1], &fields[2]}));
}

TEST(pair_walk, gives_an_object_that_became_an_optional_as_what_it_holds) {
    rows_by_hand was;
    const std::uint32_t old_number = was.number("int", 4);
    const std::uint32_t old_wrapper = was.wrapper("std::atomic<int>", old_number);
    rows_by_hand is;
    is.number("char", 1);
    const std::uint32_t new_number = is.number("long", 8);
    const std::uint32_t new_optional = is.optional(new_number);
    row_matching rows(was, is);
    ASSERT_TRUE(rows.match(old_number, new_optional));
    EXPECT_EQ(pairs_by_hand({}, rows, {old_number, 1000}, new_optional), (told_pairs{"? 0@1000 -> 1"}));
    ASSERT_TRUE(rows.match(old_wrapper, new_optional));
    EXPECT_EQ(pairs_by_hand({}, rows, {old_wrapper, 1000}, new_optional), (told_pairs{"? 1@1000 -> 1"}));
}

TEST(pair_walk, gives_what_an_optional_holds_and_nothing_of_an_empty_one) {
    rows_by_hand was;
    const std::uint32_t old_number = was.number("int", 4);
    const std::uint32_t old_optional = was.optional(old_number);
    rows_by_hand is;
    is.number("char", 1);
    const std::uint32_t new_number = is.number("long", 8);
    const std::uint32_t new_optional = is.optional(new_number);
    row_matching rows(was, is);
    ASSERT_TRUE(rows.match(old_optional, new_optional));
    const held_place value{{old_number, 1004}, 0};
    EXPECT_EQ(pairs_by_hand({.what_is_held = value}, rows, {old_optional, 1000}, new_optional),
              (told_pairs{"? 0@1004 -> 1"}));
    EXPECT_EQ(pairs_by_hand({}, rows, {old_optional, 1000}, new_optional), told_pairs{});
}

TEST(pair_walk, finds_the_alternatives_of_a_variant_by_their_names) {
    rows_by_hand was;
    const std::uint32_t old_int = was.number("int", 4);
    const std::uint32_t old_long = was.number("long", 8);
    const std::uint32_t old_variant =
        was.of_parts("std::variant<int, long>", shape_kind::variant, {old_int, old_long}, {0, 8});
    rows_by_hand is;
    const std::uint32_t new_long = is.number("long", 8);
    const std::uint32_t new_short = is.number("short", 2);
    const std::uint32_t new_int = is.number("int", 4);
    const std::uint32_t new_variant =
        is.of_parts("std::variant<long, short, int>", shape_kind::variant, {new_long, new_short, new_int}, {0, 8});
    row_matching rows(was, is);
    ASSERT_TRUE(rows.match(old_variant, new_variant));
    const held_place first{{old_int, 1000}, 0};
    EXPECT_EQ(pairs_by_hand({.what_is_held = first}, rows, {old_variant, 1000}, new_variant),
              (told_pairs{"? 0@1000 -> 2"}));
    const held_place second{{old_long, 1000}, 1};
    EXPECT_EQ(pairs_by_hand({.what_is_held = second}, rows, {old_variant, 1000}, new_variant),
              (told_pairs{"? 1@1000 -> 0"}));
}

TEST(pair_walk, unwraps_elements_that_are_wrapped_on_one_side_only) {
    rows_by_hand numbers;
    const std::uint32_t bare = numbers.number("int", 4);
    const std::uint32_t bare_sequence = numbers.sequence(bare);
    rows_by_hand wrappers;
    wrappers.number("char", 1);
    const std::uint32_t inside = wrappers.number("int", 4);
    const std::uint32_t wrapped = wrappers.wrapper("std::atomic<int>", inside);
    const std::uint32_t wrapped_sequence = wrappers.sequence(wrapped);

    row_matching wraps(numbers, wrappers);
    ASSERT_TRUE(wraps.match(bare_sequence, wrapped_sequence));
    EXPECT_EQ(pairs_by_hand({.value_row = bare}, wraps, {bare_sequence, 1000}, wrapped_sequence),
              (told_pairs{"e 0@1100 -> 2 #0", "e 0@1200 -> 2 #1"}));
    EXPECT_EQ(pairs_by_hand({}, wraps, {bare, 1100}, wrapped), (told_pairs{"= 0@1100 -> 1"}));

    row_matching unwraps(wrappers, numbers);
    ASSERT_TRUE(unwraps.match(wrapped_sequence, bare_sequence));
    EXPECT_EQ(pairs_by_hand({.value_row = wrapped}, unwraps, {wrapped_sequence, 1000}, bare_sequence),
              (told_pairs{"e 2@1100 -> 0 #0", "e 2@1200 -> 0 #1"}));
    EXPECT_EQ(pairs_by_hand({}, unwraps, {wrapped, 1100}, bare), (told_pairs{"= 1@1100 -> 0"}));
}

TEST(pair_walk, unwraps_one_side_after_the_other_but_numbers_of_a_unit_at_once) {
    rows_by_hand was;
    const std::uint32_t old_number = was.number("int", 4);
    const std::uint32_t old_wrapper = was.wrapper("std::atomic<int>", old_number);
    const std::uint32_t old_unit = was.wrapper("std::chrono::seconds", old_number);
    rows_by_hand is;
    is.number("char", 1);
    const std::uint32_t new_number = is.number("int", 4);
    const std::uint32_t new_wrapper = is.wrapper("std::atomic<int>", new_number);
    const std::uint32_t new_unit = is.wrapper("std::chrono::seconds", new_number);
    row_matching rows(was, is);
    ASSERT_TRUE(rows.match(old_wrapper, new_wrapper));
    EXPECT_EQ(pairs_by_hand({}, rows, {old_wrapper, 1000}, new_wrapper), (told_pairs{"= 0@1000 -> 2"}));
    EXPECT_EQ(pairs_by_hand({}, rows, {old_number, 1000}, new_wrapper), (told_pairs{"= 0@1000 -> 1"}));
    ASSERT_TRUE(rows.match(old_unit, new_unit));
    EXPECT_EQ(pairs_by_hand({}, rows, {old_unit, 1000}, new_unit), (told_pairs{"= 0@1000 -> 1"}));
}

TEST(pair_walk, has_no_pairs_of_numbers_pointers_and_arrays_of_characters) {
    rows_by_hand both;
    const std::uint32_t number = both.number("int", 4);
    const std::uint32_t pointer = both.add({.kind = type_kind::pointer, .parts = {{.type = number}}});
    const std::uint32_t character = both.add(
        {.kind = type_kind::object, .name = "char", .size = 1, .alignment = 1, .shape = shape_kind::character});
    const std::uint32_t characters = both.add({.kind = type_kind::array, .extent = 2, .parts = {{.type = character}}});
    const std::uint32_t numbers = both.add({.kind = type_kind::array, .extent = 2, .parts = {{.type = number}}});
    const rows_by_hand same = both;
    row_matching rows(both, same);
    for (const std::uint32_t each : {number, pointer, characters}) {
        SCOPED_TRACE(both.name_of(each));
        ASSERT_TRUE(rows.match(each, each));
        EXPECT_EQ(pairs_by_hand({}, rows, {each, 1000}, each), told_pairs{});
    }
    ASSERT_TRUE(rows.match(numbers, numbers));
    EXPECT_EQ(pairs_by_hand({.value_row = number}, rows, {numbers, 1000}, numbers),
              (told_pairs{"e 0@1100 -> 0 #0", "e 0@1200 -> 0 #1"}));
}

TEST(pair_walk, ends_where_its_visitor_fails) {
    rows_by_hand was;
    const std::uint32_t number = was.number("int", 4);
    const std::uint32_t map = was.map(number, number);
    const std::uint32_t pair = was.structure(
        "point", {{.name = "x", .offset = 0, .type = number}, {.name = "y", .offset = 4, .type = number}});
    const rows_by_hand is = was;
    row_matching rows(was, is);
    for (const std::uint32_t each : {map, pair}) {
        ASSERT_TRUE(rows.match(each, each));
        for (const int fails_at : {1, 2}) { // a key and its value, a member and another one
            source_by_hand source{.key_row = number, .value_row = number};
            int visits = 0;
            const auto done = for_each_part_pair(source, rows, {each, 0}, each, [&](const part_pair&) -> result<void> {
                return ++visits == fails_at ? fail(errc::corrupt, "no") : result<void>();
            });
            ASSERT_FALSE(done);
            EXPECT_EQ(done.why().message, "no");
            EXPECT_EQ(visits, fails_at);
        }
    }
}

} // namespace
} // namespace remanence::objects
