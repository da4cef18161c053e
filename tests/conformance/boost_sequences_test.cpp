// Boost's sequences and strings against the models of the standard's; the build leaves this out where Boost is missing.

#include "sequences.hpp"

#include <remanence/boost.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <forward_list>
#include <list>
#include <string>
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
#if defined(REMANENCE_ALL_TESTS)
using boost_elements = testing::Types<int, string, record, serialised>;
#else
using boost_elements = testing::Types<int, record>;
#endif
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

} // namespace
} // namespace remanence::test
