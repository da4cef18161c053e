// The position-independent string and vector against the standard's.

#include "sequences.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace remanence::test {
namespace {

template <class Element>
class pi_vectors : public testing::Test {};
using pi_elements = testing::Types<int, string_pi, string, record, fragile, serialised>;
TYPED_TEST_SUITE(pi_vectors, pi_elements);

TYPED_TEST(pi_vectors, vector_pi_conforms) {
    expect_conformance<pi_sequence<TypeParam>, vector_pi<TypeParam>, std::vector<modelled_by<TypeParam>>>();
}
TEST(pi_strings, string_pi_conforms) { expect_conformance<characters, string_pi, std::string>(); }

} // namespace
} // namespace remanence::test
