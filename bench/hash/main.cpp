// hash_map beside std::unordered_map, in a heap and outside.
#include <harness.hpp>
#include <keys.hpp>
#include <maps.hpp>

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

namespace {

using number = std::uint64_t;
namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures hash_map beside std::unordered_map, in memory and in a heap: CPU seconds per
element, without commits. Keys are 64-bit numbers or texts of 16 to 47 characters, values 64-bit numbers. Elements are inserted
(into a container that is empty and grows), looked up, looked up in vain, and erased in random orders; "iterate" sums the
values. "commit", in a heap with all elements: CPU seconds of a write section that erases one element, of random order, and inserts
it again with another value, lazily committed; with --json also the bytes that commits found changed. Each run is a fresh
process.
)";

const std::vector<bench::map_workload>& all_workloads() {
    static const std::vector<bench::map_workload> all = {
        {"numbers", 100}, {"numbers", 10'000}, {"numbers", 100'000}, {"numbers", 1'000'000},
        {"texts", 100},   {"texts", 10'000},   {"texts", 100'000},   {"texts", 1'000'000},
    };
    return all;
}
const std::vector<std::string>& all_systems() {
    static const std::vector<std::string> all = {"std::unordered_map", "std::unordered_map in heap", "hash_map",
                                                 "hash_map in heap", "hash_map of string_pi in heap"};
    return all;
}

template <class Map, class Key>
std::vector<bench::measurement> measure(Map& map, std::vector<Key> keys, const std::vector<Key>& others,
                                        std::mt19937_64& random) {
    using stored = typename Map::key_type;
    number sum = 0;
    std::ranges::shuffle(keys, random);
    const double insert = bench::seconds_of_each(keys, [&](const Key& key) { map.emplace(stored(key), number{1}); });
    std::ranges::shuffle(keys, random);
    const double look_up =
        bench::seconds_of_each(keys, [&](const Key& key) { sum += bench::find_in(map, key)->second; });
    const double miss = bench::seconds_of_each(
        others, [&](const Key& key) { sum += bench::find_in(map, key) == map.end() ? number{0} : number{1}; });
    const double iterate = bench::seconds_of_iteration(map, sum);
    std::ranges::shuffle(keys, random);
    const double erase = bench::seconds_of_each(keys, [&](const Key& key) { map.erase(bench::find_in(map, key)); });
    if (sum != 11 * keys.size() || !map.empty())
        throw std::runtime_error("the container held something else");
    map = Map(map.get_allocator()); // so that the next one grows, too
    return {{"insert", insert}, {"look up", look_up}, {"miss", miss}, {"iterate", iterate}, {"erase", erase}};
}

template <class Map, class Key>
void measure_and_hand_over(Map& map, const std::vector<Key>& keys, const std::vector<Key>& others) {
    std::mt19937_64 random(2);
    bench::hand_over_best(keys.size(), [&] { return measure(map, keys, others, random); });
}

template <class Map, class Key>
void measure_in_heap(const fs::path& directory, const std::vector<Key>& keys, const std::vector<Key>& others) {
    rem::heap heap = rem::heap::create(directory / "hash.rem");
    auto& map = heap.root<Map>("map");
    measure_and_hand_over(map, keys, others);
    bench::measure_commits(heap, map, keys);
    heap.close();
}

/// `InHeap`: how a key is kept in a heap.
template <class Key, class InHeap>
void measure_keys(const std::string& system, const fs::path& directory, std::size_t count) {
    std::vector<Key> keys = bench::make_keys<Key>(2 * count);
    const std::vector<Key> others(keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end());
    keys.resize(count);
    if (system == "std::unordered_map") {
        std::unordered_map<Key, number> map;
        measure_and_hand_over(map, keys, others);
    } else if (system == "hash_map") {
        rem::hash_map<Key, number, rem::seeded_hash<Key>, std::equal_to<>, std::allocator<std::pair<const Key, number>>>
            map;
        measure_and_hand_over(map, keys, others);
    } else if (system == "std::unordered_map in heap") {
        measure_in_heap<rem::unordered_map<InHeap, number>>(directory, keys, others);
    } else if (system == "hash_map in heap") {
        measure_in_heap<rem::hash_map<InHeap, number>>(directory, keys, others);
    } else {
        if constexpr (!std::is_same_v<Key, number>)
            measure_in_heap<rem::hash_map<rem::string_pi, number>>(directory, keys, others);
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
    bench::run_map_benchmark(chosen, "hash", all_systems(), all_workloads(),
                             [](const std::string& system, const std::string& keys) {
                                 return keys != "numbers" || system.find("string_pi") == std::string::npos;
                             });
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "hash", k_purpose, run_parent, run_child); }
