// The hash containers against the standard's; after each step their structure is inspected.

#include "associative.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace remanence::test {
namespace {

template <class Key>
using set_model = std::unordered_set<modelled_by<Key>, model_hash, std::equal_to<>>;
template <class Key, class Value>
using map_model = std::unordered_map<modelled_by<Key>, modelled_by<Value>, model_hash, std::equal_to<>>;

template <class Set>
class hash_sets : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using hash_set_kinds = testing::Types<hash_set<string>, hash_set<string_pi>, hash_set<string, poor_hash>,
                                      hash_set<string, fragile_hash, fragile_equal>, hash_set<fragile>, hash_set<int>,
                                      hash_set<record>, hash_set<serialised>>;
#else
using hash_set_kinds = testing::Types<hash_set<string, fragile_hash, fragile_equal>, hash_set<string, poor_hash>>;
#endif
TYPED_TEST_SUITE(hash_sets, hash_set_kinds);
TYPED_TEST(hash_sets, hash_set_conforms) {
    expect_conformance<associative<false>, TypeParam, set_model<typename TypeParam::key_type>>();
}

template <class Map>
class hash_maps : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using hash_map_kinds =
    testing::Types<hash_map<string, string>, hash_map<string_pi, string_pi>, hash_map<string, record, poor_hash>,
                   hash_map<string, string, fragile_hash, fragile_equal>, hash_map<fragile, fragile>,
                   hash_map<int, int>, hash_map<serialised, serialised>>;
#else
using hash_map_kinds = testing::Types<hash_map<fragile, fragile>, hash_map<string, record, poor_hash>>;
#endif
TYPED_TEST_SUITE(hash_maps, hash_map_kinds);
TYPED_TEST(hash_maps, hash_map_conforms) {
    expect_conformance<associative<false>, TypeParam,
                       map_model<typename TypeParam::key_type, typename TypeParam::mapped_type>>();
}

} // namespace
} // namespace remanence::test
