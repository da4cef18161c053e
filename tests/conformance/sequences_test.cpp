// vector, deque, list, forward_list and string against their models.

#include "sequences.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <forward_list>
#include <list>
#include <string>
#include <vector>

namespace remanence::test {
namespace {

template <class Element>
class sequences : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using elements = testing::Types<int, string, record, fragile, serialised>;
#else // of each guest two kinds of elements are compiled
using elements = testing::Types<int, fragile>;
#endif
TYPED_TEST_SUITE(sequences, elements);

TYPED_TEST(sequences, vector_conforms) {
    expect_conformance<sequence, vector<TypeParam>, std::vector<modelled_by<TypeParam>>>();
}
TYPED_TEST(sequences, deque_conforms) {
    expect_conformance<sequence, deque<TypeParam>, std::deque<modelled_by<TypeParam>>>();
}
TYPED_TEST(sequences, list_conforms) {
    expect_conformance<list_sequence, list<TypeParam>, std::list<modelled_by<TypeParam>>>();
}
TYPED_TEST(sequences, forward_list_conforms) {
    expect_conformance<forward_sequence, forward_list<TypeParam>, std::forward_list<modelled_by<TypeParam>>>();
}
TEST(sequences_of_char, string_conforms) { expect_conformance<characters, string, std::string>(); }

} // namespace
} // namespace remanence::test
