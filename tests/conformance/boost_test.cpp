// The containers of Boost against the models of the standard's; the build leaves this out where Boost is missing.

#include "associative.hpp"
#include "sequences.hpp"

#include <remanence/boost.hpp>

#include <boost/multi_index/identity.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence::test {
namespace {

/// To erase none, a deque of Boost moves elements onto themselves, which empties strings; to insert none, too.
struct boost_deque_sequence : sequence {
    template <class C>
    static std::string apply(C& c, const operation& o) {
        const unsigned choice = o.choice % k_choices;
        if ((choice == 6 || choice == 9) && o.key % 4 == 0)
            return {};
        return sequence::apply(c, o);
    }
};

/// The lists of Boost keep a part of what was to be inserted when an element throws.
template <class Adapter>
struct without_promises : Adapter {
    static bool is_strong(const operation&) { return false; }
};

template <class Element>
class boost_sequences : public testing::Test {};
using boost_elements = testing::Types<int, string, record>;
TYPED_TEST_SUITE(boost_sequences, boost_elements);

TYPED_TEST(boost_sequences, vector_conforms) {
    expect_conformance<sequence, boost_vector<TypeParam>, std::vector<modelled_by<TypeParam>>>();
}
TYPED_TEST(boost_sequences, deque_conforms) {
    expect_conformance<boost_deque_sequence, boost_deque<TypeParam>, std::deque<modelled_by<TypeParam>>>();
}
TYPED_TEST(boost_sequences, stable_vector_conforms) {
    expect_conformance<sequence, boost_stable_vector<TypeParam>, std::vector<modelled_by<TypeParam>>>();
}
TYPED_TEST(boost_sequences, list_conforms) {
    expect_conformance<list_sequence, boost_list<TypeParam>, std::list<modelled_by<TypeParam>>>();
}
TYPED_TEST(boost_sequences, slist_conforms) {
    expect_conformance<forward_sequence, boost_slist<TypeParam>, std::forward_list<modelled_by<TypeParam>>>();
}
// Not of deque, where an element that throws ends the program (noexcept), and of stable_vector, which frees a block twice.
TEST(boost_sequences_of_fragile, vector_conforms) {
    expect_conformance<sequence, boost_vector<fragile>, std::vector<std::string>>();
}
TEST(boost_sequences_of_fragile, list_conforms) {
    expect_conformance<without_promises<list_sequence>, boost_list<fragile>, std::list<std::string>>();
}
TEST(boost_sequences_of_fragile, slist_conforms) {
    expect_conformance<without_promises<forward_sequence>, boost_slist<fragile>, std::forward_list<std::string>>();
}

/// What both kinds of string can be told.
struct boost_characters {
    static constexpr bool k_ordered = true;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        const std::string text = o.text();
        const std::size_t position = o.position % (c.size() + 1);
        switch (o.choice % 9) {
        case 0:
            c.append(text.data(), text.size());
            break;
        case 1:
            c.assign(text.data(), text.size());
            break;
        case 2:
            c.insert(position, text.data(), text.size());
            break;
        case 3:
            c.erase(position, o.key);
            break;
        case 4:
            c.replace(position, o.key, text.data(), text.size());
            break;
        case 5:
            c.resize(o.text_bytes, 'r');
            break;
        case 6:
            c.push_back('p');
            break;
        case 7: {
            C outside = empty_outside<C>();
            outside.assign(text.data(), text.size());
            if (o.position % 2 == 0)
                c = outside;
            else
                c = std::move(outside);
            break;
        }
        default:
            c.shrink_to_fit();
            if (c.size() > 2000)
                c.clear();
            break;
        }
        return std::string(c.data(), c.size());
    }

    static bool is_strong(const operation&) { return true; }
};
TEST(boost_sequences_of_char, string_conforms) { expect_conformance<boost_characters, boost_string, std::string>(); }

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
using boost_keys = testing::Types<int, string, record>;
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

TEST(boost_maps, map_conforms) {
    expect_conformance<associative<true>, boost_map<string, record>, std::map<std::string, std::string, std::less<>>>();
}
TEST(boost_maps, multimap_conforms) {
    expect_conformance<associative<true>, boost_multimap<string, record>,
                       std::multimap<std::string, std::string, std::less<>>>();
}
TEST(boost_maps, flat_map_conforms) {
    expect_conformance<flat, boost_flat_map<string, record>, std::map<std::string, std::string, std::less<>>>();
}
TEST(boost_maps, unordered_map_conforms) {
    expect_conformance<associative<false>, boost_unordered_map<record, string>,
                       std::unordered_map<std::string, std::string, model_hash, std::equal_to<>>>();
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
