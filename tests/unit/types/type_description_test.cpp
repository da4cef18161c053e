#include "support/seed.hpp"
#include "types/type_description.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace remanence::types {
namespace {

type_description sample() {
    return {{
                {.kind = type_kind::members,
                 .name = "node",
                 .size = 64,
                 .alignment = 8,
                 .parts = {{.name = "value", .offset = 0, .type = 1},
                           {.name = "next", .offset = 8, .type = 2},
                           {.name = "pair", .offset = 16, .type = 3},
                           {.type = 1}}},
                {.kind = type_kind::object, .name = "int", .size = 4, .alignment = 4},
                {.kind = type_kind::pointer, .parts = {{.type = 0}}},
                {.kind = type_kind::array, .extent = 300, .parts = {{.type = 2}}},
                {.kind = type_kind::object,
                 .name = "rem::vector_pi<node>",
                 .size = 32,
                 .alignment = 8,
                 .number = 5,
                 .note = " vector 1",
                 .parts = {{.type = 0}, {.type = 5}}},
                {.kind = type_kind::plain, .name = "void"},
                {.kind = type_kind::reference, .name = "node"},
                {.kind = type_kind::serialised, .name = "point", .parts = {{.name = "x", .type = 5}}},
                {.kind = type_kind::array, .parts = {{.type = 1}}},
                {.kind = type_kind::pointer, .parts = {{.type = 8}}},
            },
            4};
}

TEST(type_description, is_decoded_as_it_was_encoded) {
    const type_description original = sample();
    const auto decoded = type_description::decode(original.encode());
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->rows, original.rows);
    EXPECT_EQ(decoded->root, original.root);
}

TEST(type_description, has_names_as_programmers_write_them) {
    const type_description all = sample();
    EXPECT_EQ(all.name_of(0), "node");
    EXPECT_EQ(all.name_of(2), "node*");
    EXPECT_EQ(all.name_of(3), "node*[300]");
    EXPECT_EQ(all.name_of(6), "node&");
    EXPECT_EQ(all.name_of(8), "int[]");
    EXPECT_EQ(all.name_of(9), "int(*)[]");
    EXPECT_EQ(all.text(), "node 64/8 {0 int value, 8 node* next, 16 node*[300] pair, int}\n"
                          "int 4/4\n"
                          "rem::vector_pi<node> 32/8 layout number 5 <node, void> vector 1\n"
                          "point serialised {void x}");
}

// Files hold these bytes: docs/format.md.
TEST(type_description, has_the_bytes_that_the_format_says) {
    const type_description pointer_to_point{
        {{.kind = type_kind::members,
          .name = "point",
          .size = 8,
          .alignment = 4,
          .number = 200,
          .parts = {{.name = "x", .offset = 0, .type = 1}, {.name = "y", .offset = 4, .type = 1}}},
         {.kind = type_kind::object, .name = "int", .size = 4, .alignment = 4},
         {.kind = type_kind::pointer, .parts = {{.type = 0}}}},
        2};
    EXPECT_EQ(pointer_to_point.encode(), "\4\3"
                                         "m\6point\x09\5\xc9\1\1\3"
                                         "\2x\2\2"
                                         "\2y\6\2"
                                         "o\4int\5\5\1\1\1"
                                         "*\1");
}

TEST(type_description, has_no_byte_that_is_0) {
    EXPECT_EQ(sample().encode().find('\0'), std::string::npos);
    std::string with_zero = sample().encode();
    with_zero[1] = '\0';
    EXPECT_FALSE(type_description::decode(with_zero));
}

TEST(type_description, that_is_cut_off_or_too_long_is_refused) {
    const std::string whole = sample().encode();
    for (std::size_t length = 0; length != whole.size(); ++length)
        EXPECT_FALSE(type_description::decode(whole.substr(0, length))) << length;
    EXPECT_FALSE(type_description::decode(whole + '\0'));
    EXPECT_FALSE(type_description::decode(std::string(11, '\xff')));
}

TEST(type_description, that_refers_to_what_is_not_there_is_refused) {
    const auto refused = [](auto change) {
        type_description changed = sample();
        change(changed);
        return !type_description::decode(changed.encode());
    };
    EXPECT_FALSE(refused([](type_description&) {}));
    EXPECT_TRUE(refused([](type_description& all) { all.root = 10; }));
    EXPECT_TRUE(refused([](type_description& all) { all.rows[0].parts[0].type = 10; }));
    EXPECT_TRUE(refused([](type_description& all) { all.rows[2].parts[0].type = 2; })) << "a pointer to itself";
    EXPECT_TRUE(refused([](type_description& all) { all.rows[2].parts[0].type = 3; }))
        << "a pointer to what follows it";
    EXPECT_TRUE(refused([](type_description& all) { all.rows[3].parts[0].type = 3; })) << "an array of itself";
    EXPECT_TRUE(refused([](type_description& all) { all.rows[0].parts[0].offset = 65; })) << "behind its object";
    EXPECT_TRUE(refused([](type_description& all) { all.rows[0].alignment = 3; }));
    EXPECT_TRUE(refused([](type_description& all) { all.rows[0].alignment = 0; }));
}

TEST(type_description, with_any_bytes_changed_is_refused_or_has_names) {
    const std::string whole = sample().encode();
    std::mt19937 random(test::seed_or(28));
    std::size_t decoded_count = 0;
    for (int i = 0; i != 20'000; ++i) {
        std::string changed = whole;
        for (auto changes = 1 + random() % 3; changes != 0; --changes)
            changed[random() % changed.size()] = static_cast<char>(random());
        const auto decoded = type_description::decode(changed);
        if (!decoded)
            continue;
        ++decoded_count;
        ASSERT_GT(decoded->rows.size(), decoded->root);
        EXPECT_FALSE(decoded->text().empty() && decoded->name_of(decoded->root).empty());
    }
    EXPECT_GT(decoded_count, 1'000U) << "else nothing was tried";
}

} // namespace
} // namespace remanence::types
