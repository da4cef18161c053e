// The ordered containers beside std::map, in a heap and outside, and with nodes of several sizes.
#include <harness.hpp>
#include <keys.hpp>
#include <maps.hpp>

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <type_traits>

namespace measured { // the type of a root needs a name

using number = std::uint64_t;
namespace rem = remanence;

template <class Key, class Value>
using std_map = std::map<Key, Value, std::less<>>;
template <class Key, std::size_t NodeBytes>
using btree_in_heap = rem::btree_map<Key, number, std::less<>, rem::allocator<std::pair<const Key, number>>, NodeBytes>;
template <class Key>
using btree_outside = rem::btree_map<Key, number, std::less<>, std::allocator<std::pair<const Key, number>>>;

} // namespace measured

namespace {

using measured::number;
namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures btree_map beside std::map, in memory and in a heap: CPU seconds per
element, without commits. Keys are 64-bit numbers or texts of 16 to 47 characters, values 64-bit numbers. Elements are inserted,
looked up and erased in random orders; "append" inserts them sorted, with end() as hint; "iterate" sums the values of the
container that came from random insertions. "commit", in a heap with all elements: CPU seconds of a write section that
erases one element, of random order, and inserts it again with another value, lazily committed; with --json also the bytes
that commits found changed. Systems named by a number have leaves of so many bytes; each run is a fresh
process.
)";

const std::vector<bench::map_workload>& all_workloads() {
    static const std::vector<bench::map_workload> all = {
        {"numbers", 10'000}, {"texts", 10'000}, {"numbers", 100'000}, {"texts", 100'000}, {"numbers", 1'000'000}};
    return all;
}
const std::vector<std::string>& all_systems() {
    static const std::vector<std::string> all = {"std::map",    "std::map in heap", "btree_map",   "btree_map in heap",
                                                 "256 in heap", "1024 in heap",     "2048 in heap"};
    return all;
}

template <class Map, class Key>
std::vector<bench::measurement> measure(Map& map, std::vector<Key> keys, std::mt19937_64& random) {
    using stored = typename Map::key_type;
    number sum = 0;
    std::ranges::sort(keys);
    const double append =
        bench::seconds_of_each(keys, [&](const Key& key) { map.emplace_hint(map.end(), stored(key), number{1}); });
    map.clear();
    std::ranges::shuffle(keys, random);
    const double insert = bench::seconds_of_each(keys, [&](const Key& key) { map.emplace(stored(key), number{1}); });
    std::ranges::shuffle(keys, random);
    const double look_up =
        bench::seconds_of_each(keys, [&](const Key& key) { sum += bench::find_in(map, key)->second; });
    const double iterate = bench::seconds_of_iteration(map, sum);
    std::ranges::shuffle(keys, random);
    const double erase = bench::seconds_of_each(keys, [&](const Key& key) { map.erase(bench::find_in(map, key)); });
    if (sum != 11 * keys.size() || !map.empty())
        throw std::runtime_error("the container held something else");
    return {{"append", append}, {"insert", insert}, {"look up", look_up}, {"iterate", iterate}, {"erase", erase}};
}

template <class Map, class Key>
void measure_and_hand_over(Map& map, const std::vector<Key>& keys) {
    std::mt19937_64 random(2);
    bench::hand_over_best(keys.size(), [&] { return measure(map, keys, random); });
}

template <class Map, class Key>
void measure_in_heap(const fs::path& directory, const std::vector<Key>& keys) {
    rem::heap heap = rem::heap::create(directory / "btree.rem");
    auto& map = heap.root<Map>("map");
    measure_and_hand_over(map, keys);
    bench::measure_commits(heap, map, keys);
    heap.close();
}

/// `InHeap`: how a key is kept in a heap.
template <class Key, class InHeap>
void measure_keys(const std::string& system, const fs::path& directory, std::size_t count) {
    const std::vector<Key> keys = bench::make_keys<Key>(count);
    if (system == "std::map") {
        measured::std_map<Key, number> map;
        measure_and_hand_over(map, keys);
    } else if (system == "btree_map") {
        measured::btree_outside<Key> map;
        measure_and_hand_over(map, keys);
    } else if (system == "std::map in heap") {
        measure_in_heap<rem::map<InHeap, number>>(directory, keys);
    } else if (system == "btree_map in heap") {
        measure_in_heap<measured::btree_in_heap<InHeap, 0>>(directory, keys);
    } else if (system == "256 in heap") {
        measure_in_heap<measured::btree_in_heap<InHeap, 256>>(directory, keys);
    } else if (system == "1024 in heap") {
        measure_in_heap<measured::btree_in_heap<InHeap, 1024>>(directory, keys);
    } else if (system == "2048 in heap") {
        measure_in_heap<measured::btree_in_heap<InHeap, 2048>>(directory, keys);
    }
}

void run_child(const std::vector<std::string>& words) {
    const std::size_t count = std::stoul(words.at(2));
    if (words.at(1) == "numbers")
        measure_keys<number, number>(words.at(0), words.at(3), count);
    else
        measure_keys<std::string, rem::string>(words.at(0), words.at(3), count);
}

void run_parent(const bench::options& chosen) {
    bench::run_map_benchmark(chosen, "btree", all_systems(), all_workloads());
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "btree", k_purpose, run_parent, run_child); }
