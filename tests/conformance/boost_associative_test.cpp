// Boost's sets and maps against the models of the standard's; the build leaves this out where Boost is missing.

#include "associative.hpp"

#include <remanence/boost.hpp>

#include <boost/multi_index/identity.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace remanence::test {
namespace {

/// Without nodes to extract, and without promises when something throws.
struct flat : associative<true> {
    template <class C>
    static std::string apply(C& c, const operation& o) {
        return o.choice % k_choices == 14 ? std::string() : associative<true>::apply(c, o);
    }
    static bool is_strong(const operation&) { return false; }
};

template <class Key>
class boost_sets : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using boost_keys = testing::Types<int, string, record, fragile, serialised>;
#else // of each guest two kinds of elements are compiled
using boost_keys = testing::Types<string, fragile>;
#endif
TYPED_TEST_SUITE(boost_sets, boost_keys);

TYPED_TEST(boost_sets, set_conforms) {
    expect_conformance<associative<true>, boost_set<TypeParam>, std::set<modelled_by<TypeParam>, std::less<>>>();
}
TYPED_TEST(boost_sets, multiset_conforms) {
    expect_conformance<associative<true>, boost_multiset<TypeParam>,
                       std::multiset<modelled_by<TypeParam>, std::less<>>>();
}
TYPED_TEST(boost_sets, flat_set_conforms) {
    expect_conformance<flat, boost_flat_set<TypeParam>, std::set<modelled_by<TypeParam>, std::less<>>>();
}
TYPED_TEST(boost_sets, unordered_set_conforms) {
    expect_conformance<associative<false>, boost_unordered_set<TypeParam>,
                       std::unordered_set<modelled_by<TypeParam>, model_hash, std::equal_to<>>>();
}

template <class Entry>
class boost_maps : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using boost_entries = testing::Types<std::pair<int, int>, std::pair<string, string>, std::pair<record, record>,
                                     std::pair<fragile, fragile>, std::pair<serialised, serialised>>;
#else
using boost_entries = testing::Types<std::pair<int, int>, std::pair<fragile, fragile>>;
#endif
TYPED_TEST_SUITE(boost_maps, boost_entries);

template <class Entry>
using map_model =
    std::map<modelled_by<typename Entry::first_type>, modelled_by<typename Entry::second_type>, std::less<>>;
template <class Entry>
using multimap_model =
    std::multimap<modelled_by<typename Entry::first_type>, modelled_by<typename Entry::second_type>, std::less<>>;
template <class Entry>
using unordered_map_model = std::unordered_map<modelled_by<typename Entry::first_type>,
                                               modelled_by<typename Entry::second_type>, model_hash, std::equal_to<>>;

TYPED_TEST(boost_maps, map_conforms) {
    expect_conformance<associative<true>, boost_map<typename TypeParam::first_type, typename TypeParam::second_type>,
                       map_model<TypeParam>>();
}
TYPED_TEST(boost_maps, multimap_conforms) {
    expect_conformance<associative<true>,
                       boost_multimap<typename TypeParam::first_type, typename TypeParam::second_type>,
                       multimap_model<TypeParam>>();
}
TYPED_TEST(boost_maps, flat_map_conforms) {
    expect_conformance<flat, boost_flat_map<typename TypeParam::first_type, typename TypeParam::second_type>,
                       map_model<TypeParam>>();
}
TYPED_TEST(boost_maps, unordered_map_conforms) {
    expect_conformance<associative<false>,
                       boost_unordered_map<typename TypeParam::first_type, typename TypeParam::second_type>,
                       unordered_map_model<TypeParam>>();
}

namespace mi = boost::multi_index;
template <class T>
using two_ways =
    boost_multi_index<T, mi::indexed_by<mi::ordered_unique<mi::identity<T>, std::less<>>, mi::sequenced<>>>;

/// Of the model, which has one index, and of a container with both.
struct indexed {
    static constexpr bool k_ordered = true;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        using element = typename C::value_type;
        const std::string key = o.key_text();
        const auto made = [&](const std::string& text) { return make_element<element>(text, o.is_foreign()); };
        switch (o.choice % 10) {
        case 0:
        case 1:
            return seen(c.insert(made(key)));
        case 2: {
            const element copied = made(o.text());
            return seen(c.insert(copied));
        }
        case 3:
            return seen(c.emplace(raw<element>(o.text())));
        case 4:
            return std::to_string(c.erase(make_element<element>(key)));
        case 5: {
            const auto found = c.find(make_element<element>(key));
            if (found != c.end())
                replace(c, found, made(o.text()));
            break;
        }
        case 6: {
            C outside = empty_outside<C>();
            outside.insert(made(key));
            outside.insert(made(o.text()));
            if (o.position % 4 == 0)
                c = std::move(outside);
            else
                c.insert(outside.begin(), outside.end());
            break;
        }
        case 7: {
            C copy(c, c.get_allocator());
            copy.insert(made(key));
            if (o.position % 2 == 0)
                c = copy;
            else
                c = std::move(copy);
            break;
        }
        case 8: {
            C other(empty_like(c));
            other.insert(made(key));
            if (o.position % 4 == 0)
                c.swap(other);
            break;
        }
        default:
            if (o.position % 4 == 0)
                c.clear();
            break;
        }
        require_all_indices(c);
        return std::to_string(c.size());
    }

    static bool is_strong(const operation&) { return false; }

private:
    template <class C, class Iterator>
    static void replace(C& c, Iterator found, const typename C::value_type& element) {
        if constexpr (requires { c.replace(found, element); }) {
            c.replace(found, element);
        } else if (c.insert(element).second) {
            c.erase(found);
        }
    }

    template <class C>
    static void require_all_indices([[maybe_unused]] const C& c) {
        if constexpr (requires { c.template get<1>(); }) {
            std::size_t met = 0;
            for (const auto& element : c.template get<1>()) {
                ++met;
                require(c.find(element) != c.end(), "the sequence has an element that the order lacks");
            }
            require(met == c.size(), "the sequence has another size");
        }
    }
};

template <class Element>
class boost_multi_indices : public testing::Test {};
TYPED_TEST_SUITE(boost_multi_indices, boost_keys);
TYPED_TEST(boost_multi_indices, multi_index_conforms) {
    expect_conformance<indexed, two_ways<TypeParam>, std::set<modelled_by<TypeParam>, std::less<>>>();
}

} // namespace
} // namespace remanence::test
