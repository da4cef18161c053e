// Remanence's, stored in a heap.
#include "measured.hpp"

#include <remanence/remanence.hpp>

namespace containers {

namespace {

namespace rem = remanence;

template <class Map, class Key>
void measure_in_heap(const workload& work) {
    rem::heap heap = rem::heap::create(work.directory / "containers.rem");
    measure<Key>(heap.root<rem::vector<Map>>("maps"), work);
    heap.close();
}

template <class OfNumbers, class OfTexts>
void measure_stored(const workload& work) {
    if (work.keys == "numbers")
        measure_in_heap<OfNumbers, number>(work);
    else
        measure_in_heap<OfTexts, std::string>(work);
}

} // namespace

void add_ours(std::vector<system>& all) {
    all.push_back({"btree_map in heap", true, true,
                   measure_stored<rem::btree_map<number, number>, rem::btree_map<rem::string, number>>});
    all.push_back({"hash_map in heap", false, true,
                   measure_stored<rem::hash_map<number, number>, rem::hash_map<rem::string, number>>});
    all.push_back({"hash_map of string_pi in heap", false, false,
                   measure_in_heap<rem::hash_map<rem::string_pi, number>, std::string>});
}

} // namespace containers
