// What a program may ask our containers at compile time, as it asks those of the standard library.

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/btree_set.hpp>
#include <remanence/containers/hash_map.hpp>
#include <remanence/containers/hash_set.hpp>
#include <remanence/containers/packed_map.hpp>
#include <remanence/containers/string_pi.hpp>

#include <compare>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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
struct without_equality {};
static_assert(!std::equality_comparable<rem::btree_map<int, without_equality>>);
static_assert(!std::equality_comparable<rem::hash_map<int, without_equality>>);
static_assert(!std::equality_comparable<rem::hash_map<int, std::pair<int, without_equality>>>);

static_assert(std::totally_ordered<rem::btree_map<int, with_less>>);
static_assert(std::three_way_comparable<rem::btree_set<with_less>, std::weak_ordering>);
static_assert(std::three_way_comparable<rem::btree_map<int, double>, std::partial_ordering>);
static_assert(std::three_way_comparable<rem::btree_map<int, rem::string_pi>, std::strong_ordering>);
static_assert(std::three_way_comparable<rem::packed_map> && std::three_way_comparable<rem::packed_multimap>);
static_assert(std::three_way_comparable_with<rem::string_pi, std::string_view, std::strong_ordering>);

// Deduction of arguments. The last one may be an allocator, which is not taken for a comparator, a hash or an equality.

// clang-format off
#define REM_DEDUCED(name)                                                                                              \
    struct deduced_##name {                                                                                            \
        template <class... Args>                                                                                       \
        static auto of(Args&&... args) -> decltype(rem::name(std::forward<Args>(args)...));                            \
        template <class... Args>                                                                                       \
        using type = rem::name<Args...>;                                                                               \
    }
// clang-format on
REM_DEDUCED(btree_map);
REM_DEDUCED(btree_multimap);
REM_DEDUCED(btree_set);
REM_DEDUCED(btree_multiset);
REM_DEDUCED(hash_map);
REM_DEDUCED(hash_set);
#undef REM_DEDUCED

/// Whether a container that is made of `Args` is an `Expected`; void: that it cannot be made without naming its arguments.
template <class Container, class Expected, class... Args>
constexpr bool deduces() {
    if constexpr (requires(Args... args) { Container::of(static_cast<Args&&>(args)...); })
        return std::is_same_v<decltype(Container::of(std::declval<Args>()...)), Expected>;
    else
        return std::is_void_v<Expected>;
}

using pair = std::pair<int, char>;
using element = std::pair<const int, char>;
using greater = std::greater<int>;
using hash = std::hash<int>;
using equal = std::equal_to<int>;

/// `Source`: what comes before the comparator or the number.
template <class Container, class Value, class... Args>
struct ordered {
    template <class Compare, class Alloc>
    using type = typename Container::template type<Args..., Compare, Alloc>;
    using ours = rem::allocator<Value>;
    using other = std::allocator<Value>;

    template <class... Source>
    static constexpr bool are_deduced() {
        return deduces<Container, type<std::less<>, ours>, Source...>() &&
               deduces<Container, type<greater, ours>, Source..., greater>() &&
               deduces<Container, type<greater, other>, Source..., greater, other>() &&
               deduces<Container, type<std::less<>, other>, Source..., other>() &&
               deduces<Container, type<std::less<>, ours>, Source..., ours>() &&
               deduces<Container, void, Source..., greater, greater>() &&
               deduces<Container, void, Source..., other, other>() &&
               deduces<Container, void, Source..., other, greater>();
    }
    template <class Range>
    static constexpr bool are_all_deduced() {
        using iterator = typename Range::iterator;
        using container = type<greater, other>;
        return are_deduced<iterator, iterator>() && are_deduced<std::initializer_list<Value>>() &&
               are_deduced<rem::from_range_t, Range&>() && are_deduced<rem::from_range_t, Range>() &&
               deduces<Container, container, const container&>() && deduces<Container, container, container>() &&
               deduces<Container, container, const container&, other>() &&
               deduces<Container, container, container, other>() && deduces<Container, void, int, int>() &&
               deduces<Container, void, greater, other>();
    }
};
static_assert(ordered<deduced_btree_map, element, int, char>::are_all_deduced<std::vector<pair>>());
static_assert(ordered<deduced_btree_map, element, int, char>::are_all_deduced<std::vector<element>>());
static_assert(ordered<deduced_btree_multimap, element, int, char>::are_all_deduced<std::vector<pair>>());
static_assert(ordered<deduced_btree_set, int, int>::are_all_deduced<std::vector<int>>());
static_assert(ordered<deduced_btree_multiset, int, int>::are_all_deduced<std::vector<int>>());

template <class Container, class Value, class... Args>
struct hashed {
    template <class Hash, class Equal, class Alloc>
    using type = typename Container::template type<Args..., Hash, Equal, Alloc>;
    using ours = rem::allocator<Value>;
    using other = std::allocator<Value>;
    using default_hash = rem::seeded_hash<int>;
    using default_equal = std::equal_to<>;

    template <class... Source>
    static constexpr bool are_deduced() {
        return deduces<Container, type<default_hash, default_equal, ours>, Source...>() &&
               deduces<Container, type<default_hash, default_equal, ours>, Source..., int>() &&
               deduces<Container, type<hash, default_equal, ours>, Source..., int, hash>() &&
               deduces<Container, type<hash, equal, ours>, Source..., int, hash, equal>() &&
               deduces<Container, type<hash, equal, other>, Source..., int, hash, equal, other>() &&
               deduces<Container, type<default_hash, default_equal, other>, Source..., int, other>() &&
               deduces<Container, type<default_hash, default_equal, other>, Source..., other>() &&
               deduces<Container, type<hash, default_equal, other>, Source..., int, hash, other>() &&
               deduces<Container, void, Source..., int, int>() &&
               deduces<Container, void, Source..., int, hash, other, other>() &&
               deduces<Container, void, Source..., int, other, equal>() &&
               deduces<Container, void, Source..., int, hash, equal, equal>();
    }
    template <class Range>
    static constexpr bool are_all_deduced() {
        using iterator = typename Range::iterator;
        using container = type<hash, equal, other>;
        return are_deduced<iterator, iterator>() && are_deduced<std::initializer_list<Value>>() &&
               are_deduced<rem::from_range_t, Range&>() && are_deduced<rem::from_range_t, Range>() &&
               deduces<Container, container, const container&>() && deduces<Container, container, container>() &&
               deduces<Container, container, const container&, other>() &&
               deduces<Container, container, container, other>() && deduces<Container, void, int, int>() &&
               deduces<Container, void, int, hash>();
    }
    /// Constructors that need no deduction.
    static constexpr bool are_constructible() {
        using container = type<hash, equal, other>;
        return std::is_constructible_v<container, int> && std::is_constructible_v<container, int, other> &&
               std::is_constructible_v<container, int, hash> && std::is_constructible_v<container, int, hash, other> &&
               std::is_constructible_v<container, int, hash, equal> &&
               std::is_constructible_v<container, int, hash, equal, other> &&
               std::is_constructible_v<container, other> && !std::is_convertible_v<int, container> &&
               !std::is_convertible_v<other, container>;
    }
};
static_assert(hashed<deduced_hash_map, element, int, char>::are_all_deduced<std::vector<pair>>());
static_assert(hashed<deduced_hash_map, element, int, char>::are_constructible());
static_assert(hashed<deduced_hash_set, int, int>::are_all_deduced<std::vector<int>>());
static_assert(hashed<deduced_hash_set, int, int>::are_constructible());

// Ranges, as in C++23.

using text_pair = std::pair<std::string, std::string>;
template <class Container, class Range>
concept takes_range = requires(Container& all, Range&& some) {
    Container(rem::from_range, std::forward<Range>(some));
    Container(rem::from_range, std::forward<Range>(some), all.get_allocator());
    all.insert_range(std::forward<Range>(some));
};

static_assert(takes_range<rem::btree_map<int, char>, std::vector<pair>&>);
static_assert(takes_range<rem::btree_multimap<int, char>, std::map<int, char>>);
static_assert(takes_range<rem::btree_set<int>, std::ranges::iota_view<int, int>>);
static_assert(takes_range<rem::btree_set<int>, std::ranges::iota_view<int>>); // has another type of end
static_assert(takes_range<rem::btree_multiset<int>, std::ranges::istream_view<int>>);
static_assert(takes_range<rem::hash_map<int, char>, const std::vector<pair>&>);
static_assert(takes_range<rem::hash_set<int>, std::ranges::istream_view<int>>);
static_assert(takes_range<rem::packed_map, const std::vector<text_pair>&>);
static_assert(takes_range<rem::packed_multimap, std::map<std::string, rem::string_pi>>);
static_assert(!takes_range<rem::btree_set<int>, std::vector<std::string>>);
static_assert(!takes_range<rem::hash_map<int, char>, std::vector<int>>);
static_assert(!takes_range<rem::packed_map, std::vector<pair>> && !takes_range<rem::btree_set<int>, int>);

// Erasure and extraction by other keys: only where the order or the hash is transparent.

template <class Container, class Key>
concept erases = requires(Container& all, Key&& key) { all.erase(std::forward<Key>(key)); };
template <class Container, class Key>
concept extracts = requires(Container& all, Key&& key) { all.extract(std::forward<Key>(key)); };

static_assert(erases<rem::btree_map<rem::string_pi, int>, std::string_view>);
static_assert(extracts<rem::btree_map<rem::string_pi, int>, std::string_view>);
static_assert(erases<rem::hash_map<rem::string_pi, int>, std::string_view>);
static_assert(extracts<rem::hash_set<rem::string_pi>, std::string&>);
static_assert(!erases<rem::btree_set<rem::string_pi, std::less<rem::string_pi>>, std::string_view>);
static_assert(!extracts<rem::btree_set<rem::string_pi, std::less<rem::string_pi>>, std::string_view>);
static_assert(
    !erases<rem::hash_set<rem::string_pi, rem::seeded_string_hash, std::equal_to<rem::string_pi>>, std::string>);
static_assert(!extracts<rem::hash_set<std::string, std::hash<std::string>>, std::string_view>);
template <class Container, class Iterator = typename Container::iterator>
using erased_by_iterator = decltype(std::declval<Container&>().erase(std::declval<Iterator&>()));
template <class Container>
constexpr bool takes_iterators_for_iterators_v =
    std::is_same_v<erased_by_iterator<Container>, typename Container::iterator> &&
    std::is_same_v<erased_by_iterator<Container, typename Container::const_iterator>, typename Container::iterator>;
static_assert(takes_iterators_for_iterators_v<rem::btree_map<int, char>>);
static_assert(takes_iterators_for_iterators_v<rem::btree_multiset<int>>);
static_assert(takes_iterators_for_iterators_v<rem::hash_map<int, char>>);
static_assert(takes_iterators_for_iterators_v<rem::hash_set<int>>);

} // namespace container_concepts_test
