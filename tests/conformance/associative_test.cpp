// Sets and maps, ordered and unordered, against their models.

#include "harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace remanence::test {
namespace {

template <class C>
inline constexpr bool is_map_v = requires { typename C::mapped_type; };
template <class C>
inline constexpr bool is_hashed_v = requires { typename C::hasher; };
template <class C> // the model's elements too
using mapped_of = typename C::mapped_type;

/// What can be seen of an insertion: whether it happened, where keys are unique.
std::string seen(bool happened) { return happened ? "new" : "there already"; }
template <class Iterator>
std::string seen(const std::pair<Iterator, bool>& result) {
    return seen(result.second) + text_of(*result.first);
}
template <class Iterator>
std::string seen(const Iterator& result) {
    return text_of(*result);
}

template <class C>
typename C::value_type made(const std::string& key, [[maybe_unused]] const std::string& text, bool foreign) {
    if constexpr (is_map_v<C>) {
        return {make_element<typename C::key_type>(key, foreign), make_element<mapped_of<C>>(text, foreign)};
    } else {
        return make_element<typename C::key_type>(key, foreign);
    }
}

template <bool Ordered>
struct associative {
    static constexpr bool k_ordered = Ordered;
    static constexpr unsigned k_choices = 18;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        const std::string key = o.key_text();
        switch (o.choice % k_choices) {
        case 0:
        case 1:
        case 2:
            return seen(c.insert(made<C>(key, o.text(), o.is_foreign())));
        case 3: {
            const typename C::value_type copied = made<C>(key, o.text(), o.is_foreign());
            return seen(c.insert(copied));
        }
        case 4:
        case 5:
            return emplace(c, key, o);
        case 6:
            return seen(c.emplace_hint(c.begin(), made<C>(key, o.text(), o.is_foreign())));
        case 7:
            return std::to_string(c.erase(make_element<typename C::key_type>(key)));
        case 8: {
            const auto found = c.find(std::string_view(key));
            if (found != c.end())
                c.erase(found);
            break;
        }
        case 9:
            if constexpr (is_map_v<C>) {
                // In a multimap the first or any of the equal ones: change all.
                const auto [from, to] = c.equal_range(std::string_view(key));
                for (auto each = from; each != to; ++each)
                    each->second = make_element<mapped_of<C>>(o.text(), o.is_foreign());
            }
            break;
        case 10:
            return by_index(c, key, o);
        case 11: {
            C outside = empty_outside<C>();
            outside.insert(made<C>(key, o.text(), o.is_foreign()));
            outside.insert(made<C>(o.text(), key, o.is_foreign()));
            if (o.position % 8 == 0)
                c = std::move(outside);
            else
                c.insert(std::move_iterator(outside.begin()), std::move_iterator(outside.end()));
            break;
        }
        case 12: {
            C copy(c, c.get_allocator());
            copy.insert(made<C>(key, o.text(), o.is_foreign()));
            if (o.position % 2 == 0)
                c = copy;
            else
                c = std::move(copy);
            break;
        }
        case 13: {
            C other(empty_like(c));
            other.insert(made<C>(key, o.text(), o.is_foreign()));
            if (o.position % 4 == 0)
                c.swap(other);
            else
                c.merge(other);
            break;
        }
        case 14: {
            auto node = c.extract(make_element<typename C::key_type>(key));
            if (!node.empty() && o.position % 2 == 0)
                c.insert(std::move(node));
            break;
        }
        case 15:
            if constexpr (is_hashed_v<C>) {
                c.rehash(o.position);
            } else {
                const auto found = c.lower_bound(std::string_view(key));
                return found == c.end() ? "end" : text_of(*found);
            }
            break;
        case 16:
            return std::to_string(c.count(std::string_view(key)));
        default:
            if (o.position % 4 == 0)
                c.clear();
            break;
        }
        return std::to_string(c.size());
    }

    // Insertions of one element, and erasures.
    static bool is_strong(const operation& o) {
        const unsigned choice = o.choice % k_choices;
        return choice <= 8 || (choice >= 15 && choice <= 17);
    }

private:
    template <class C>
    static std::string emplace(C& c, const std::string& key, const operation& o) {
        if constexpr (!is_map_v<C>) {
            return seen(c.emplace(key));
        } else if constexpr (std::is_same_v<mapped_of<C>, record>) {
            return seen(c.emplace(std::piecewise_construct, std::forward_as_tuple(key),
                                  std::forward_as_tuple(make_element<record>(o.text(), o.is_foreign()))));
        } else if (o.position % 2 == 0) {
            return seen(c.emplace(key, o.text()));
        } else {
            return seen(
                c.emplace(std::piecewise_construct, std::forward_as_tuple(key), std::forward_as_tuple(o.text())));
        }
    }

    template <class C>
    static std::string by_index([[maybe_unused]] C& c, const std::string& key, const operation& o) {
        if constexpr (requires { c[make_element<typename C::key_type>(key)]; }) {
            using mapped = mapped_of<C>;
            switch (o.position % 4) {
            case 0:
                return text_of(c[make_element<typename C::key_type>(key)]);
            case 1:
                return text_of(c[make_element<typename C::key_type>(key)] =
                                   make_element<mapped>(o.text(), o.is_foreign()));
            case 2:
                return seen(c.try_emplace(make_element<typename C::key_type>(key),
                                          make_element<mapped>(o.text(), o.is_foreign())));
            default:
                return seen(c.insert_or_assign(make_element<typename C::key_type>(key),
                                               make_element<mapped>(o.text(), o.is_foreign())));
            }
        }
        return {};
    }
};

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
