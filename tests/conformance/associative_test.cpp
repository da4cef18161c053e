// The standard's sets and maps, ordered and unordered, against their models.

#include "associative.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace remanence::test {
namespace {

// The model's containers must be searched by string_view as well.
struct model_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <class Element>
class sets : public testing::Test {};
using keys = testing::Types<string, fragile>;
TYPED_TEST_SUITE(sets, keys);

TYPED_TEST(sets, set_conforms) {
    expect_conformance<associative<true>, set<TypeParam>, std::set<std::string, std::less<>>>();
}
TYPED_TEST(sets, multiset_conforms) {
    expect_conformance<associative<true>, multiset<TypeParam>, std::multiset<std::string, std::less<>>>();
}
TYPED_TEST(sets, unordered_set_conforms) {
    expect_conformance<associative<false>, unordered_set<TypeParam>,
                       std::unordered_set<std::string, model_hash, std::equal_to<>>>();
}
TYPED_TEST(sets, unordered_multiset_conforms) {
    expect_conformance<associative<false>, unordered_multiset<TypeParam>,
                       std::unordered_multiset<std::string, model_hash, std::equal_to<>>>();
}

template <class Entry>
class maps : public testing::Test {};
using entries = testing::Types<std::pair<string, string>, std::pair<string, record>, std::pair<fragile, fragile>>;
TYPED_TEST_SUITE(maps, entries);

TYPED_TEST(maps, map_conforms) {
    expect_conformance<associative<true>, map<typename TypeParam::first_type, typename TypeParam::second_type>,
                       std::map<std::string, std::string, std::less<>>>();
}
TYPED_TEST(maps, multimap_conforms) {
    expect_conformance<associative<true>, multimap<typename TypeParam::first_type, typename TypeParam::second_type>,
                       std::multimap<std::string, std::string, std::less<>>>();
}
TYPED_TEST(maps, unordered_map_conforms) {
    expect_conformance<associative<false>,
                       unordered_map<typename TypeParam::first_type, typename TypeParam::second_type>,
                       std::unordered_map<std::string, std::string, model_hash, std::equal_to<>>>();
}
TYPED_TEST(maps, unordered_multimap_conforms) {
    expect_conformance<associative<false>,
                       unordered_multimap<typename TypeParam::first_type, typename TypeParam::second_type>,
                       std::unordered_multimap<std::string, std::string, model_hash, std::equal_to<>>>();
}

} // namespace
} // namespace remanence::test
