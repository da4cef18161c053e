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

/// Of the model; so that it, too, is searched by string_view.
struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using set_model = std::unordered_set<std::string, text_hash, std::equal_to<>>;
using map_model = std::unordered_map<std::string, std::string, text_hash, std::equal_to<>>;

template <class Set>
class hash_sets : public testing::Test {};
using hash_set_kinds = testing::Types<hash_set<string>, hash_set<string_pi>, hash_set<string, poor_hash>,
                                      hash_set<string, fragile_hash, fragile_equal>, hash_set<fragile>>;
TYPED_TEST_SUITE(hash_sets, hash_set_kinds);
TYPED_TEST(hash_sets, hash_set_conforms) { expect_conformance<associative<false>, TypeParam, set_model>(); }

template <class Map>
class hash_maps : public testing::Test {};
using hash_map_kinds =
    testing::Types<hash_map<string, string>, hash_map<string_pi, string_pi>, hash_map<string, record, poor_hash>,
                   hash_map<string, string, fragile_hash, fragile_equal>, hash_map<fragile, fragile>>;
TYPED_TEST_SUITE(hash_maps, hash_map_kinds);
TYPED_TEST(hash_maps, hash_map_conforms) { expect_conformance<associative<false>, TypeParam, map_model>(); }

} // namespace
} // namespace remanence::test
