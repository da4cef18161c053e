// The containers of the standard library on our allocator, each alone in a heap; input and oracles are container_session.hpp's.
#include "container_session.hpp"

#include "conformance/associative.hpp"
#include "conformance/sequences.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace remanence::test {
namespace {

using fuzz::kind;

} // namespace

std::vector<std::unique_ptr<specimen>> all_kinds() {
    using std::less;
    using ordered = associative<true>;
    using hashed = associative<false>;
    using texts_map = std::map<std::string, std::string, less<>>;
    using texts_unordered_map = std::unordered_map<std::string, std::string, model_hash, std::equal_to<>>;
    using texts_unordered_multiset = std::unordered_multiset<std::string, model_hash, std::equal_to<>>;
    std::vector<std::unique_ptr<specimen>> all;
    all.push_back(kind<ordered, map<string, record>, texts_map>());
    all.push_back(kind<ordered, map<serialised, serialised>, texts_map>());
    all.push_back(kind<ordered, multimap<fragile, fragile>, std::multimap<std::string, std::string, less<>>>());
    all.push_back(kind<ordered, multiset<int>, std::multiset<int, less<>>>());
    all.push_back(kind<hashed, unordered_map<string, record>, texts_unordered_map>());
    all.push_back(kind<hashed, unordered_map<serialised, serialised>, texts_unordered_map>());
    all.push_back(kind<hashed, unordered_multiset<fragile>, texts_unordered_multiset>());
    all.push_back(kind<sequence, vector<record>, std::vector<std::string>>());
    all.push_back(kind<sequence, vector<serialised>, std::vector<std::string>>());
    all.push_back(kind<sequence, deque<string>, std::deque<std::string>>());
    all.push_back(kind<sequence, deque<serialised>, std::deque<std::string>>());
    all.push_back(kind<list_sequence, list<fragile>, std::list<std::string>>());
    all.push_back(kind<forward_sequence, forward_list<string>, std::forward_list<std::string>>());
    all.push_back(kind<characters, string, std::string>());
    return all;
}

} // namespace remanence::test
