// The walk over shapes, by a schema of the test's own and a source without a heap.
#include "inspect/shape_walk.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace remanence::inspect {
namespace {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

type_row row_of(shape_kind shape, std::vector<std::uint64_t> numbers = {}) {
    return {.kind = type_kind::object,
            .name = "a",
            .size = 8,
            .parts = {{.type = 1}, {.type = 2}},
            .shape = shape,
            .numbers = std::move(numbers),
            .fields = {{.type = 3}, {.type = 4}}};
}

std::string roles_of(const type_row& row) {
    std::string text;
    for (const row_part& each : parts_of(row)) {
        text += each.role == part_role::pointee  ? '*'
                : each.role == part_role::member ? '.'
                : each.role == part_role::same   ? '='
                : each.role == part_role::held   ? '?'
                : each.role == part_role::key    ? 'k'
                                                 : 'e';
        text += std::to_string(each.row);
    }
    return text;
}

TEST(row_forms, say_what_objects_of_each_shape_hold) {
    const auto expect = [](const type_row& row, form is, const std::string& roles) {
        SCOPED_TRACE(static_cast<char>(row.shape));
        EXPECT_EQ(form_of(row), is);
        EXPECT_EQ(roles_of(row), roles);
        EXPECT_EQ(is_container(row), is >= form::array);
        EXPECT_EQ(is_map(row), is == form::map || is == form::packed);
        EXPECT_EQ(is_text(row), is == form::text);
    };
    expect(row_of(shape_kind::none), form::hidden, "");
    for (const shape_kind each : {shape_kind::signed_number, shape_kind::floating, shape_kind::enumeration})
        expect(row_of(each), form::number, ""); // what an enumeration is stored as is no part of it
    expect(row_of(shape_kind::members), form::members, ".3.4");
    expect(row_of(shape_kind::same_as_part, {1}), form::same, "=2");
    expect(row_of(shape_kind::optional, {0}), form::optional, "?1");
    expect(row_of(shape_kind::variant, {0, 1}), form::variant, "?1?2");
    for (const shape_kind each : {shape_kind::text, shape_kind::text_by_link, shape_kind::packed_text})
        expect(row_of(each, {0, 8}), form::text, "");
    expect(row_of(shape_kind::serialised, {0}), form::serialised, "");
    expect(row_of(shape_kind::array, {3}), form::array, "e1");
    for (const shape_kind each : {shape_kind::contiguous, shape_kind::linked_block, shape_kind::deque, shape_kind::ring,
                                  shape_kind::chain, shape_kind::bits})
        expect(row_of(each, {0, 8}), form::sequence, "e1");
    for (const shape_kind each :
         {shape_kind::tree, shape_kind::hash_chain, shape_kind::btree, shape_kind::hash_table}) {
        expect(row_of(each, {8, 0}), form::set, "e1");
        expect(row_of(each, {8, 16}), form::map, "k1e2");
    }
    expect(row_of(shape_kind::packed, {0}), form::packed, "k3e4");
    const auto foreign = [](detail::foreign_way way, std::uint64_t mapped) {
        return row_of(shape_kind::foreign, {static_cast<std::uint64_t>(way), 0, mapped});
    };
    expect(foreign(detail::foreign_way::text, 8), form::text, "");
    expect(foreign(detail::foreign_way::ring, 0), form::sequence, "e1");
    expect(foreign(detail::foreign_way::run, 8), form::map, "k1e2");
    expect(foreign(detail::foreign_way::tree, 0), form::set, "e1");
    expect({.kind = type_kind::pointer, .parts = {{.type = 5}}}, form::pointer, "*5");
    expect({.kind = type_kind::array, .extent = 2, .parts = {{.type = 5}}}, form::array, "e5");
}

/// A struct of a number, a bit-field without a place, and a map of three elements.
struct a_source {
    a_source() {
        schema_.rows.push_back(row_of(shape_kind::signed_number));
        schema_.rows.push_back(row_of(shape_kind::tree, {8, 16}));
        schema_.rows.push_back(row_of(shape_kind::members));
        schema_.rows[1].parts = {{.type = 0}, {.type = 0}};
        schema_.rows[2].fields = {{.name = "number", .offset = 0, .type = 0},
                                  {.name = "bits", .type = 0},
                                  {.name = "map", .offset = 8, .type = 1}};
    }
    const type_row& row(std::uint32_t index) const { return schema_.rows[index]; }
    static std::optional<object_place> member(object_place of, const type_part& part) {
        return part.offset ? std::optional(object_place{part.type, of.at + *part.offset}) : std::nullopt;
    }
    static result<std::optional<held_place>> held(object_place) { return std::optional<held_place>(); }
    template <class Visit>
    result<void> for_each_element(object_place of, const Visit& visit) {
        for (std::uint64_t at = of.at + 100; at != of.at + 130; at += 10) {
            result<bool> more = visit(element_place{.value = {0, at + 1}, .has_key = true, .key = {0, at}});
            if (!more || !*more)
                return more ? result<void>() : more.error();
        }
        return {};
    }
    types::type_description schema_;
};

TEST(shape_walk, visits_parts_in_order_until_the_visitor_has_enough) {
    a_source source;
    std::vector<std::uint64_t> seen;
    std::uint64_t last = ~std::uint64_t{0};
    const auto visit = [&](const object_part& each) -> result<bool> {
        seen.push_back(each.place.at);
        return each.place.at != last;
    };
    ASSERT_TRUE(for_each_part(source, {2, 16}, visit));
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{16, 24}));
    seen.clear();
    ASSERT_TRUE(for_each_part(source, {1, 24}, visit));
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{124, 125, 134, 135, 144, 145}));
    seen.clear();
    last = 134;
    ASSERT_TRUE(for_each_part(source, {1, 24}, visit));
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{124, 125, 134}));
    seen.clear();
    last = 16;
    ASSERT_TRUE(for_each_part(source, {2, 16}, visit));
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{16}));
}

TEST(shape_walk, fails_as_its_visitor_does) {
    a_source source;
    for (const std::uint32_t row : {1U, 2U}) {
        const auto done = for_each_part(source, {row, 0},
                                        [](const object_part&) -> result<bool> { return fail(errc::corrupt, "no"); });
        ASSERT_FALSE(done);
        EXPECT_EQ(done.why().message, "no");
    }
}

TEST(row_forms, tell_rows_whose_objects_have_something_elsewhere) {
    types::type_description schema = a_source().schema_;
    schema.rows.push_back({.kind = type_kind::pointer, .parts = {{.type = 1}}});
    schema.rows.push_back(row_of(shape_kind::optional, {0}));
    schema.rows[4].parts = {{.type = 3}};
    EXPECT_EQ(rows_that_lead_on(schema, false), (std::vector<char>{0, 1, 1, 0, 0}));
    EXPECT_EQ(rows_that_lead_on(schema, true), (std::vector<char>{0, 1, 1, 1, 1}));
}

} // namespace
} // namespace remanence::inspect
