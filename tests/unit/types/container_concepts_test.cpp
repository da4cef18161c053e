// What a program may ask our containers at compile time, as it asks those of the standard library.

#include <remanence/btree_map.hpp>
#include <remanence/btree_set.hpp>
#include <remanence/hash_map.hpp>
#include <remanence/hash_set.hpp>
#include <remanence/packed_map.hpp>
#include <remanence/string_pi.hpp>

#include <compare>
#include <concepts>
#include <string_view>

namespace rem = remanence;

namespace container_concepts_test {

// Order. Elements without one make the answer "no"; the question is no error.

struct without_order {
    bool operator==(const without_order&) const = default;
};
struct with_less {
    int number;
    friend bool operator<(const with_less& a, const with_less& b) { return a.number < b.number; }
    friend bool operator==(const with_less& a, const with_less& b) { return a.number == b.number; }
};
struct by_address {
    using is_transparent = void;
    bool operator()(const without_order& a, const without_order& b) const { return &a < &b; }
};

template <class Container>
constexpr bool has_order_v = std::totally_ordered<Container> || std::three_way_comparable<Container>;

static_assert(!has_order_v<rem::btree_map<int, without_order>>);
static_assert(!has_order_v<rem::btree_multimap<int, without_order>>);
static_assert(!has_order_v<rem::btree_set<without_order, by_address>>);
static_assert(!has_order_v<rem::btree_multiset<without_order, by_address>>);
static_assert(!has_order_v<rem::hash_map<int, int>> && !has_order_v<rem::hash_set<int>>);
static_assert(std::equality_comparable<rem::btree_map<int, without_order>>);
static_assert(std::equality_comparable<rem::hash_map<int, without_order>>);

static_assert(std::totally_ordered<rem::btree_map<int, with_less>>);
static_assert(std::three_way_comparable<rem::btree_set<with_less>, std::weak_ordering>);
static_assert(std::three_way_comparable<rem::btree_map<int, double>, std::partial_ordering>);
static_assert(std::three_way_comparable<rem::btree_map<int, rem::string_pi>, std::strong_ordering>);
static_assert(std::three_way_comparable<rem::packed_map> && std::three_way_comparable<rem::packed_multimap>);
static_assert(std::three_way_comparable_with<rem::string_pi, std::string_view, std::strong_ordering>);

} // namespace container_concepts_test
