// The packed maps, which hold bytes only, against the standard's maps of strings; after each step their structure is inspected.

#include "packed.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace remanence::test {
namespace {

TEST(packed_maps, packed_map_conforms) { expect_conformance<packed, packed_map, std::map<std::string, std::string>>(); }
TEST(packed_maps, packed_multimap_conforms) {
    expect_conformance<packed, packed_multimap, std::multimap<std::string, std::string>>();
}

} // namespace
} // namespace remanence::test
