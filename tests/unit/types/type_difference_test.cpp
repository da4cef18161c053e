// The sentences that a program with another version of a type is told.
#include "types/type_difference.hpp"

#include <remanence/containers/standard.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/fragile.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rem = remanence;

// Two versions of a program, as far as one program can have both: their namespaces are left out below.
namespace changed {

class account { // hides its members
    [[maybe_unused]] std::int64_t balance_ = 0;
};
class larger_account {
    [[maybe_unused]] std::int64_t balance_ = 0, limit_ = 0;
};

namespace v1 {
class account {
    [[maybe_unused]] std::int64_t balance_ = 0;
};
class numbered {
    [[maybe_unused]] int number_ = 0;
};
enum class colour : std::uint8_t { red };
struct address {
    rem::string street, city;
    int zip;
};
struct person {
    rem::string name;
    address home;
    rem::vector<address> others;
    address* office;
    person* friends[2];
};
struct place {
    double lat, lon;
};
struct letters {
    int a, b, c;
};
struct added {
    int a, c;
};
struct removed {
    int a, b, c;
};
struct longer {
    int a;
};
struct shorter {
    int a, b;
};
struct renamed {
    int a, b, c;
};
struct shifted {
    int a, b, c;
};
struct renamed_and_grown {
    int a;
    account money;
};
struct lists {
    rem::vector<int> all;
};
struct arrays {
    double cells[2][3];
};
struct moved {
    char a;
    char b;
};
struct owner {
    rem::vector<account> accounts;
};
struct of_numbered {
    numbered one;
};
struct painted {
    colour of;
};
struct hidden {
    int a;
};
struct flags {
    unsigned a : 3, b : 3;
    int c;
};
struct chain {
    chain* next;
    int value;
};
} // namespace v1

namespace v2 {
class account {
    [[maybe_unused]] std::int64_t balance_ = 0, limit_ = 0;
};
class numbered {
    [[maybe_unused]] int number_ = 0;
};
enum class colour : std::uint16_t { red };
struct address {
    rem::string street, city;
    rem::string zip;
};
struct person {
    rem::string name;
    address home;
    rem::vector<address> others;
    address* office;
    person* friends[2];
};
struct place {
    double lon, lat;
};
struct letters {
    int a, b, c;
};
struct added {
    int a, b, c;
};
struct removed {
    int a, c;
};
struct longer {
    int a, b;
};
struct shorter {
    int a;
};
struct renamed {
    int a, second, c;
};
struct shifted {
    int b, c, d;
};
struct renamed_and_grown {
    int first;
    account money;
};
struct lists {
    rem::vector<long> all;
};
struct arrays {
    double cells[2][4];
};
struct moved {
    char a;
    alignas(2) char b;
};
struct owner {
    rem::vector<account> accounts;
};
struct of_numbered {
    numbered one;
};
struct painted {
    colour of;
};
class hidden {
    [[maybe_unused]] int a_ = 0;
};
struct flags {
    unsigned a : 3, b : 3;
    unsigned c;
};
struct chain {
    chain* before;
    int value;
};
} // namespace v2

} // namespace changed

template <>
inline constexpr std::uint32_t remanence::layout_number<changed::v1::numbered> = 1;
template <>
inline constexpr std::uint32_t remanence::layout_number<changed::v2::numbered> = 2;

namespace remanence::types {
namespace {

template <class T>
type_description description_of() {
    auto described = *type_description::decode(detail::fingerprint_of<T>().description);
    for (type_row& row : described.rows) {
        for (const std::string_view version : {"changed::v1::", "changed::v2::"}) {
            for (std::size_t at = row.name.find(version); at != std::string::npos; at = row.name.find(version))
                row.name.erase(at, version.size());
        }
    }
    return described;
}

template <class Was, class Is>
std::string change() {
    const auto found = difference_between(description_of<Was>(), description_of<Is>());
    return !found ? "none" : found->only_names ? found->what + " (only names)" : found->what;
}

namespace v1 = changed::v1;
namespace v2 = changed::v2;

TEST(type_difference, is_none_between_equal_types) {
    EXPECT_EQ((change<v1::person, v1::person>()), "none");
    EXPECT_EQ((change<v1::letters, v2::letters>()), "none");
}

TEST(type_difference, names_the_member_whose_type_changed) {
    EXPECT_EQ((change<v1::address, v2::address>()), R"(member 3 of address was "int zip", is "rem::string zip")");
    EXPECT_EQ((change<v1::lists, v2::lists>()),
              R"(member 1 of lists was "rem::vector<int> all", is "rem::vector<long> all")");
    EXPECT_EQ((change<v1::arrays, v2::arrays>()),
              R"(member 1 of arrays was "double[2][3] cells", is "double[2][4] cells")");
    EXPECT_EQ((change<v1::flags, v2::flags>()), R"(member 3 of flags was "int c", is "unsigned int c")");
}

TEST(type_difference, says_by_which_members_it_is_reached) {
    EXPECT_EQ((change<v1::person, v2::person>()),
              R"(member 3 of address (home.zip) was "int zip", is "rem::string zip")");
    EXPECT_EQ((change<rem::vector<v1::address>, rem::vector<v2::address>>()),
              R"(member 3 of address was "int zip", is "rem::string zip")");
    EXPECT_EQ((change<rem::map<int, v1::person*>, rem::map<int, v2::person*>>()),
              R"(member 3 of address ([]->home.zip) was "int zip", is "rem::string zip")");
}

TEST(type_difference, tells_members_that_changed_places) {
    EXPECT_EQ((change<v1::place, v2::place>()),
              R"(member 1 of place was "double lat", is "double lon": members changed places)");
    EXPECT_EQ((change<rem::fragile<v1::place>, rem::fragile<v2::place>>()),
              R"(member 1 of place was "double lat", is "double lon": members changed places)");
}

TEST(type_difference, names_members_that_were_added_or_removed) {
    EXPECT_EQ((change<v1::added, v2::added>()), R"(member 2 of added, "int b", was added)");
    EXPECT_EQ((change<v1::removed, v2::removed>()), R"(member 2 of removed, "int b", was removed)");
    EXPECT_EQ((change<v1::longer, v2::longer>()), R"(member 2 of longer, "int b", was added)");
    EXPECT_EQ((change<v1::shorter, v2::shorter>()), R"(member 2 of shorter, "int b", was removed)");
}

TEST(type_difference, is_in_names_only_when_members_were_renamed) {
    EXPECT_EQ((change<v1::renamed, v2::renamed>()), R"(member 2 of renamed was "int b", is "int second" (only names))");
    EXPECT_EQ((change<v1::chain, v2::chain>()),
              R"(member 1 of chain was "chain* next", is "chain* before" (only names))");
    EXPECT_EQ((change<v1::renamed_and_grown, v2::renamed_and_grown>()),
              "account (money) had 8 bytes (alignment 8), has 16 bytes (alignment 8)")
        << "a renamed member beside another change";
}

TEST(type_difference, is_not_in_names_only_when_a_name_went_to_another_member) {
    EXPECT_EQ((change<v1::shifted, v2::shifted>()),
              R"(member 1 of shifted was "int a", is "int b": members changed places)");
}

TEST(type_difference, tells_places_sizes_and_numbers) {
    EXPECT_EQ((change<v1::moved, v2::moved>()), R"(member 2 of moved, "char b", was at offset 1, is at offset 2)");
    EXPECT_EQ((change<v1::owner, v2::owner>()),
              "account (accounts[]) had 8 bytes (alignment 8), has 16 bytes (alignment 8)");
    EXPECT_EQ((change<v1::of_numbered, v2::of_numbered>()), "the layout number of numbered was 1, is 2");
    EXPECT_EQ((change<v1::painted, v2::painted>()), "colour consisted of unsigned char, consists of unsigned short");
    EXPECT_EQ((change<v1::hidden, v2::hidden>()), "hidden was an aggregate, is a class that hides its members");
    EXPECT_EQ((change<v2::hidden, v1::hidden>()), "hidden was a class that hides its members, is an aggregate");
}

// A description that is none of a type, but decodes.
TEST(type_difference, ends_whatever_refers_to_what) {
    type_description rings = description_of<v1::chain>();
    for (type_row& row : rings.rows) {
        for (type_part& part : row.parts)
            part.type = rings.root;
    }
    const auto decoded = type_description::decode(rings.encode());
    if (decoded)
        (void)difference_between(*decoded, description_of<v1::chain>());
    type_description deep;
    deep.root = 0;
    for (std::uint32_t i = 0; i != 10'000; ++i) {
        deep.rows.push_back({.kind = type_kind::members, .name = "t" + std::to_string(i), .size = 8, .alignment = 8});
        deep.rows.back().parts.push_back({.name = "m", .offset = 0, .type = (i + 1) % 10'000});
    }
    type_description other = deep;
    other.rows.back().number = 1;
    const auto found = difference_between(deep, other);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->what, "the layout number of t9999 was 0, is 1");
}

} // namespace
} // namespace remanence::types
