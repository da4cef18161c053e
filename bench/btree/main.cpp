// The ordered containers beside std::map, in a heap and outside, and with nodes of several sizes.
#include <harness.hpp>
#include <keys.hpp>

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

struct workload {
    std::string name;
    std::size_t entries;
};
const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {
        {"numbers", 10'000}, {"texts", 10'000}, {"numbers", 100'000}, {"texts", 100'000}, {"numbers", 1'000'000}};
    return all;
}
const std::vector<std::string>& all_systems() {
    static const std::vector<std::string> all = {"std::map",    "std::map in heap", "btree_map",   "btree_map in heap",
                                                 "256 in heap", "1024 in heap",     "2048 in heap"};
    return all;
}

/// What one repetition takes of each operation, in seconds per element.
struct times {
    double append, insert, look_up, iterate, erase;
};

template <class Map, class Key>
times measure(Map& map, std::vector<Key> keys, std::mt19937_64& random) {
    using stored = typename Map::key_type;
    const auto each = static_cast<double>(keys.size());
    times result{};
    number sum = 0;
    std::ranges::sort(keys);
    {
        const bench::stopwatch watch;
        for (const Key& key : keys)
            map.emplace_hint(map.end(), stored(key), number{1});
        result.append = watch.cpu_seconds() / each;
    }
    map.clear();
    std::ranges::shuffle(keys, random);
    {
        const bench::stopwatch watch;
        for (const Key& key : keys)
            map.emplace(stored(key), number{1});
        result.insert = watch.cpu_seconds() / each;
    }
    std::ranges::shuffle(keys, random);
    {
        const bench::stopwatch watch;
        for (const Key& key : keys) {
            if constexpr (std::is_same_v<Key, number>)
                sum += map.find(key)->second;
            else
                sum += map.find(std::string_view(key))->second;
        }
        result.look_up = watch.cpu_seconds() / each;
    }
    {
        const bench::stopwatch watch;
        for (int i = 0; i < 10; ++i) {
            for (const auto& element : map)
                sum += element.second;
        }
        result.iterate = watch.cpu_seconds() / each / 10;
    }
    std::ranges::shuffle(keys, random);
    {
        const bench::stopwatch watch;
        for (const Key& key : keys) {
            if constexpr (std::is_same_v<Key, number>)
                map.erase(map.find(key));
            else
                map.erase(map.find(std::string_view(key)));
        }
        result.erase = watch.cpu_seconds() / each;
    }
    if (sum != 11 * keys.size() || !map.empty())
        throw std::runtime_error("the container held something else");
    return result;
}

/// The first repetition brings the memory in; the others count, the best of each.
template <class Map, class Key>
void measure_and_hand_over(Map& map, const std::vector<Key>& keys) {
    std::mt19937_64 random(2);
    (void)measure(map, keys, random);
    const std::size_t repetitions = std::max<std::size_t>(3, 300'000 / keys.size());
    times best = measure(map, keys, random);
    for (std::size_t i = 1; i < repetitions; ++i) {
        const times one = measure(map, keys, random);
        best = {std::min(best.append, one.append), std::min(best.insert, one.insert),
                std::min(best.look_up, one.look_up), std::min(best.iterate, one.iterate),
                std::min(best.erase, one.erase)};
    }
    bench::hand_over({"append", best.append});
    bench::hand_over({"insert", best.insert});
    bench::hand_over({"look up", best.look_up});
    bench::hand_over({"iterate", best.iterate});
    bench::hand_over({"erase", best.erase});
}

template <class Map, class Key>
void measure_commits(rem::heap& heap, Map& map, std::vector<Key> keys) {
    using stored = typename Map::key_type;
    constexpr std::size_t k_commits = 2'000;
    std::mt19937_64 random(3);
    heap.write([&] {
        for (const Key& key : keys)
            map.emplace(stored(key), number{1});
    });
    std::ranges::shuffle(keys, random);
    heap.checkpoint(); // the commits to be measured begin alike
    const std::uint64_t changed = heap.stats().changed_bytes;
    const bench::stopwatch watch;
    for (std::size_t i = 0; i < k_commits; ++i) {
        heap.write(rem::durability::lazy, [&] {
            const stored key(keys[i]);
            map.erase(key);
            map.emplace(key, number{2});
        });
    }
    const double seconds = watch.cpu_seconds() / k_commits;
    const auto found = static_cast<double>(heap.stats().changed_bytes - changed);
    bench::hand_over({"commit", seconds, {{"changed_bytes", found / k_commits}}});
}

template <class Map, class Key>
void measure_in_heap(const fs::path& directory, const std::vector<Key>& keys) {
    rem::heap heap = rem::heap::create(directory / "btree.rem");
    auto& map = heap.root<Map>("map");
    measure_and_hand_over(map, keys);
    measure_commits(heap, map, keys);
    heap.close();
}

/// `Text`: how a text is kept in a heap, and outside.
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
    bench::report report("btree");
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : all_workloads()) {
            const std::string title = work.name + " " + std::to_string(work.entries);
            if (!bench::is_wanted(title, chosen.workloads))
                continue;
            for (std::size_t i = 0; i < all_systems().size(); ++i) {
                const std::string& each = all_systems()[(i + run) % all_systems().size()];
                if (!bench::is_wanted(each, chosen.only))
                    continue;
                const bench::scratch_directory scratch(chosen.dir);
                bench::note(each + ", " + title);
                for (const bench::measurement& result :
                     bench::run_child({each, work.name, std::to_string(work.entries), scratch.path()}))
                    report.add(each, title, work.entries, result);
            }
        }
    }
    bench::note("");
    report.print("std::map");
    if (!chosen.json.empty())
        report.write_json(chosen.json);
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "btree", k_purpose, run_parent, run_child); }
