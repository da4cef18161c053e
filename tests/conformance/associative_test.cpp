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

template <class Element>
class sets : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using keys = testing::Types<int, string, record, fragile, serialised>;
#else // of each guest two kinds of elements are compiled
using keys = testing::Types<string, fragile>;
#endif
TYPED_TEST_SUITE(sets, keys);

TYPED_TEST(sets, set_conforms) {
    expect_conformance<associative<true>, set<TypeParam>, std::set<modelled_by<TypeParam>, std::less<>>>();
}
TYPED_TEST(sets, multiset_conforms) {
    expect_conformance<associative<true>, multiset<TypeParam>, std::multiset<modelled_by<TypeParam>, std::less<>>>();
}
TYPED_TEST(sets, unordered_set_conforms) {
    expect_conformance<associative<false>, unordered_set<TypeParam>,
                       std::unordered_set<modelled_by<TypeParam>, model_hash, std::equal_to<>>>();
}
TYPED_TEST(sets, unordered_multiset_conforms) {
    expect_conformance<associative<false>, unordered_multiset<TypeParam>,
                       std::unordered_multiset<modelled_by<TypeParam>, model_hash, std::equal_to<>>>();
}

template <class Entry>
class maps : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using entries = testing::Types<std::pair<string, string>, std::pair<string, record>, std::pair<fragile, fragile>,
                               std::pair<int, int>, std::pair<serialised, serialised>>;
#else
using entries = testing::Types<std::pair<string, record>, std::pair<fragile, fragile>>;
#endif
TYPED_TEST_SUITE(maps, entries);

TYPED_TEST(maps, map_conforms) {
    expect_conformance<associative<true>, map<typename TypeParam::first_type, typename TypeParam::second_type>,
                       std::map<modelled_by<typename TypeParam::first_type>,
                                modelled_by<typename TypeParam::second_type>, std::less<>>>();
}
TYPED_TEST(maps, multimap_conforms) {
    expect_conformance<associative<true>, multimap<typename TypeParam::first_type, typename TypeParam::second_type>,
                       std::multimap<modelled_by<typename TypeParam::first_type>,
                                     modelled_by<typename TypeParam::second_type>, std::less<>>>();
}
TYPED_TEST(maps, unordered_map_conforms) {
    expect_conformance<associative<false>,
                       unordered_map<typename TypeParam::first_type, typename TypeParam::second_type>,
                       std::unordered_map<modelled_by<typename TypeParam::first_type>,
                                          modelled_by<typename TypeParam::second_type>, model_hash, std::equal_to<>>>();
}
TYPED_TEST(maps, unordered_multimap_conforms) {
    expect_conformance<
        associative<false>, unordered_multimap<typename TypeParam::first_type, typename TypeParam::second_type>,
        std::unordered_multimap<modelled_by<typename TypeParam::first_type>,
                                modelled_by<typename TypeParam::second_type>, model_hash, std::equal_to<>>>();
}

} // namespace
} // namespace remanence::test
