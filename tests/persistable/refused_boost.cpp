// As refused.cpp, for the containers of Boost. Each has a counterpart that may be stored.
#include <remanence/boost.hpp>
#include <remanence/remanence.hpp>

#include <boost/container/pmr/vector.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/identity.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/random_access_index.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <memory>
#include <string>
#include <utility>

namespace refused {

namespace rem = remanence;
namespace mi = boost::multi_index;

using identity = mi::identity<int>;
using flat_set = boost::unordered::unordered_flat_set<int, std::hash<int>, std::equal_to<>, rem::allocator<int>>;
using flat_map = boost::unordered::unordered_flat_map<int, int, std::hash<int>, std::equal_to<>,
                                                      rem::allocator<std::pair<const int, int>>>;
using ordered_and_hashed =
    rem::boost_multi_index<int, mi::indexed_by<mi::ordered_unique<identity>, mi::hashed_unique<identity>>>;
using at_random = rem::boost_multi_index<int, mi::indexed_by<mi::random_access<>>>;
using with_malloc = boost::multi_index_container<int, mi::indexed_by<mi::ordered_unique<identity>>>;

using ordered_and_in_sequence =
    rem::boost_multi_index<int, mi::indexed_by<mi::ordered_unique<identity>, mi::sequenced<>>>;
using of_strings = rem::boost_multi_index<std::string, mi::indexed_by<mi::sequenced<>>>;

void store(rem::heap& heap);
void store(rem::heap& heap) {
    heap.root<flat_set>("root");                      // unordered_flat_set|this container: an empty one points
    heap.root<flat_map>("root");                      // unordered_flat_map|this container: an empty one points
    heap.root<ordered_and_hashed>("root");            // multi_index_container|a boost::multi_index_container with
    (void)heap.make<at_random>();                     // multi_index_container|a boost::multi_index_container with
    heap.root<with_malloc>("root");                   // multi_index_container|a container that takes its memory
    heap.root<of_strings>("root");                    // basic_string<char|a container that takes its memory from
    heap.root<boost::container::vector<int>>("root"); // boost::container::vector|a container that takes its memory
    heap.root<boost::container::string>("root");      // basic_string<char|a container that takes its memory from
    heap.root<boost::container::flat_map<int, int>>("root"); // flat_map|a container that takes its memory from
    heap.root<boost::unordered_map<int, int>>("root");       // unordered_map|a container that takes its memory from
    heap.root<boost::container::pmr::vector<int>>("root");   // boost::container::vector|std::pmr containers
    heap.root<rem::boost_map<int, std::string>>("root");     // basic_string<char|a container that takes its memory from
    (void)heap.make<rem::boost_list<std::unique_ptr<int>>>(); // std::default_delete|a std::unique_ptr with
}

static_assert(rem::persistable<ordered_and_in_sequence>);
static_assert(rem::persistable<rem::boost_vector<int>>);
static_assert(rem::persistable<rem::boost_string>);
static_assert(rem::persistable<rem::boost_flat_map<int, int>>);
static_assert(rem::persistable<rem::boost_flat_set<int>>);
static_assert(rem::persistable<rem::boost_unordered_map<int, int>>);
static_assert(rem::persistable<rem::boost_unordered_set<int>>);
static_assert(rem::persistable<rem::boost_map<int, rem::boost_string>>);
static_assert(rem::persistable<rem::boost_list<rem::string>>);

} // namespace refused
