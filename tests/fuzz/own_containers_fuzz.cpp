// Our own containers, each alone in a heap; input and oracles are container_session.hpp's. The B-trees have the smallest nodes there
// are, so that few elements make high trees.
#include "container_session.hpp"

#include "conformance/associative.hpp"
#include "conformance/packed.hpp"
#include "conformance/sequences.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence::test {
namespace {

using fuzz::kind;

using std::less;
using texts_map = std::map<std::string, std::string, less<>>;
using texts_multimap = std::multimap<std::string, std::string, less<>>;
using texts_unordered_set = std::unordered_set<std::string, model_hash, std::equal_to<>>;
using texts_unordered_map = std::unordered_map<std::string, std::string, model_hash, std::equal_to<>>;

template <class Key, class Compare = less<>>
using small_set = btree_set<Key, Compare, allocator<Key>, 1>;
template <class Key, class Compare = less<>>
using small_multiset = btree_multiset<Key, Compare, allocator<Key>, 1>;
template <class Key, class Value>
using small_map = btree_map<Key, Value, less<>, allocator<std::pair<const Key, Value>>, 1>;
template <class Key, class Value>
using small_multimap = btree_multimap<Key, Value, less<>, allocator<std::pair<const Key, Value>>, 1>;

} // namespace

std::vector<std::unique_ptr<specimen>> all_kinds() {
    using ordered = associative<true>;
    using hashed = associative<false>;
    std::vector<std::unique_ptr<specimen>> all;
    all.push_back(kind<ordered, small_set<int>, std::set<int, less<>>>());
    all.push_back(kind<ordered, small_set<string, fragile_less>, std::set<std::string, less<>>>());
    all.push_back(kind<ordered, small_multiset<string_pi>, std::multiset<std::string, less<>>>());
    all.push_back(kind<ordered, small_multiset<serialised>, std::multiset<std::string, less<>>>());
    all.push_back(kind<ordered, small_map<fragile, fragile>, texts_map>());
    all.push_back(kind<ordered, small_multimap<string, record>, texts_multimap>());
    all.push_back(kind<ordered, small_multimap<serialised, serialised>, texts_multimap>());
    all.push_back(kind<hashed, hash_set<string_pi, poor_hash>, texts_unordered_set>());
    all.push_back(kind<hashed, hash_set<fragile>, texts_unordered_set>());
    all.push_back(kind<hashed, hash_map<string, record>, texts_unordered_map>());
    all.push_back(kind<hashed, hash_map<serialised, serialised>, texts_unordered_map>());
    all.push_back(kind<packed, packed_map, std::map<std::string, std::string>>());
    all.push_back(kind<packed, packed_multimap, std::multimap<std::string, std::string>>());
    all.push_back(kind<pi_sequence<fragile>, vector_pi<fragile>, std::vector<std::string>>());
    all.push_back(kind<pi_sequence<serialised>, vector_pi<serialised>, std::vector<std::string>>());
    return all;
}

} // namespace remanence::test
