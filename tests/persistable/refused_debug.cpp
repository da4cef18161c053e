// With _GLIBCXX_DEBUG, what must not compile: as tests/persistable/refused.cpp. And what does.
#include <remanence/remanence.hpp>

#include <utility>

namespace refused {

namespace rem = remanence;

struct names {
    rem::vector<int> all;
};

static_assert(rem::persistable<rem::string> && rem::persistable<std::array<int, 3>>);
static_assert(rem::persistable<rem::btree_map<rem::string, int>> && rem::persistable<rem::hash_set<int>>);
static_assert(rem::persistable<rem::vector_pi<rem::string_pi>>);
static_assert(rem::detail::k_abi.find("debug") != std::string_view::npos);

void attempts(rem::heap& heap) {
    heap.root<rem::vector<int>>("");                         // vector|containers or iterators of the debug mode
    (void)heap.make<rem::map<int, int>>();                   // map|containers or iterators of the debug mode
    (void)heap.make<rem::unordered_set<int>>();              // unordered_set|containers or iterators of the debug mode
    (void)heap.make<std::pair<int, rem::list<int>>>();       // list|containers or iterators of the debug mode
    (void)heap.make<names>();                                // vector|containers or iterators of the debug mode
    (void)heap.make<rem::btree_map<int, rem::deque<int>>>(); // deque|containers or iterators of the debug mode
    (void)heap.make<rem::vector<int>::iterator>();           // iterator|containers or iterators of the debug mode
}

} // namespace refused
