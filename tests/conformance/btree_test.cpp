// The B-tree containers against the standard's, with nodes of the size that is chosen and with the smallest there are,
// which make high trees of few elements; after each step their structure is inspected.

#include "associative.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

namespace remanence::test {
namespace {

template <std::size_t NodeBytes>
using node_bytes = std::integral_constant<std::size_t, NodeBytes>;
using chosen = node_bytes<0>;
using smallest = node_bytes<1>;

template <class Key, class Compare, class NodeBytes>
struct set_of {
    using key = modelled_by<Key>;
    using unique = btree_set<Key, Compare, allocator<Key>, NodeBytes::value>;
    using multiple = btree_multiset<Key, Compare, allocator<Key>, NodeBytes::value>;
};
template <class Key, class Value, class Compare, class NodeBytes>
struct map_of {
    using key = modelled_by<Key>;
    using value = modelled_by<Value>;
    using unique = btree_map<Key, Value, Compare, allocator<std::pair<const Key, Value>>, NodeBytes::value>;
    using multiple = btree_multimap<Key, Value, Compare, allocator<std::pair<const Key, Value>>, NodeBytes::value>;
};

template <class Kinds>
class btree_sets : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using sets_of_all = testing::Types<set_of<string, std::less<>, smallest>, set_of<string, std::less<>, chosen>,
                                   set_of<string, fragile_less, smallest>, set_of<fragile, std::less<>, smallest>,
                                   set_of<int, std::less<>, smallest>, set_of<record, std::less<>, smallest>,
                                   set_of<serialised, std::less<>, smallest>, set_of<string_pi, std::less<>, smallest>>;
#else // the smallest nodes have the most of what is difficult
using sets_of_all = testing::Types<set_of<string, fragile_less, smallest>, set_of<record, std::less<>, smallest>>;
#endif
TYPED_TEST_SUITE(btree_sets, sets_of_all);

TYPED_TEST(btree_sets, btree_set_conforms) {
    expect_conformance<associative<true>, typename TypeParam::unique, std::set<typename TypeParam::key, std::less<>>>();
}
TYPED_TEST(btree_sets, btree_multiset_conforms) {
    expect_conformance<associative<true>, typename TypeParam::multiple,
                       std::multiset<typename TypeParam::key, std::less<>>>();
}

template <class Kinds>
class btree_maps : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using maps_of_all =
    testing::Types<map_of<string, string, std::less<>, smallest>, map_of<string, record, std::less<>, smallest>,
                   map_of<string, record, std::less<>, chosen>, map_of<string, string, fragile_less, smallest>,
                   map_of<fragile, fragile, std::less<>, smallest>, map_of<int, int, std::less<>, smallest>,
                   map_of<serialised, serialised, std::less<>, smallest>,
                   map_of<string_pi, string_pi, std::less<>, smallest>>;
#else
using maps_of_all =
    testing::Types<map_of<fragile, fragile, std::less<>, smallest>, map_of<string, record, std::less<>, chosen>>;
#endif
TYPED_TEST_SUITE(btree_maps, maps_of_all);

TYPED_TEST(btree_maps, btree_map_conforms) {
    expect_conformance<associative<true>, typename TypeParam::unique,
                       std::map<typename TypeParam::key, typename TypeParam::value, std::less<>>>();
}
TYPED_TEST(btree_maps, btree_multimap_conforms) {
    expect_conformance<associative<true>, typename TypeParam::multiple,
                       std::multimap<typename TypeParam::key, typename TypeParam::value, std::less<>>>();
}

} // namespace
} // namespace remanence::test
