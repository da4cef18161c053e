// hash_map beside std::unordered_map, in a heap and outside.
#include <harness.hpp>
#include <keys.hpp>

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

struct workload {
    std::string name;
    std::size_t entries;
};
const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {
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

/// What one repetition takes of each operation, in seconds per element.
struct times {
    double insert, look_up, miss, iterate, erase;
};

template <class Map, class Key>
auto found(Map& map, const Key& key) {
    if constexpr (std::is_same_v<Key, typename Map::key_type>)
        return map.find(key);
    else
        return map.find(std::string_view(key));
}

template <class Map, class Key>
times measure(Map& map, std::vector<Key> keys, const std::vector<Key>& others, std::mt19937_64& random) {
    using stored = typename Map::key_type;
    const auto each = static_cast<double>(keys.size());
    times result{};
    number sum = 0;
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
        for (const Key& key : keys)
            sum += found(map, key)->second;
        result.look_up = watch.cpu_seconds() / each;
    }
    {
        const bench::stopwatch watch;
        for (const Key& key : others)
            sum += found(map, key) == map.end() ? number{0} : number{1};
        result.miss = watch.cpu_seconds() / each;
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
        for (const Key& key : keys)
            map.erase(found(map, key));
        result.erase = watch.cpu_seconds() / each;
    }
    if (sum != 11 * keys.size() || !map.empty())
        throw std::runtime_error("the container held something else");
    map = Map(map.get_allocator()); // so that the next one grows, too
    return result;
}

/// The first repetition brings the memory in; the others count, the best of each.
template <class Map, class Key>
void measure_and_hand_over(Map& map, const std::vector<Key>& keys, const std::vector<Key>& others) {
    std::mt19937_64 random(2);
    (void)measure(map, keys, others, random);
    const std::size_t repetitions = std::max<std::size_t>(3, 300'000 / keys.size());
    times best = measure(map, keys, others, random);
    for (std::size_t i = 1; i < repetitions; ++i) {
        const times one = measure(map, keys, others, random);
        best = {std::min(best.insert, one.insert), std::min(best.look_up, one.look_up), std::min(best.miss, one.miss),
                std::min(best.iterate, one.iterate), std::min(best.erase, one.erase)};
    }
    bench::hand_over({"insert", best.insert});
    bench::hand_over({"look up", best.look_up});
    bench::hand_over({"miss", best.miss});
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
            const stored key(keys[i % keys.size()]);
            map.erase(key);
            map.emplace(key, number{2});
        });
    }
    const double seconds = watch.cpu_seconds() / k_commits;
    const auto found_changed = static_cast<double>(heap.stats().changed_bytes - changed);
    bench::hand_over({"commit", seconds, {{"changed_bytes", found_changed / k_commits}}});
}

template <class Map, class Key>
void measure_in_heap(const fs::path& directory, const std::vector<Key>& keys, const std::vector<Key>& others) {
    rem::heap heap = rem::heap::create(directory / "hash.rem");
    auto& map = heap.root<Map>("map");
    measure_and_hand_over(map, keys, others);
    measure_commits(heap, map, keys);
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
    bench::report report("hash");
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : all_workloads()) {
            const std::string title = work.name + " " + std::to_string(work.entries);
            if (!bench::is_wanted(title, chosen.workloads))
                continue;
            for (std::size_t i = 0; i < all_systems().size(); ++i) {
                const std::string& each = all_systems()[(i + run) % all_systems().size()];
                if (!bench::is_wanted(each, chosen.only) ||
                    (work.name == "numbers" && each.find("string_pi") != std::string::npos))
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
    report.print("std::unordered_map");
    if (!chosen.json.empty())
        report.write_json(chosen.json);
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "hash", k_purpose, run_parent, run_child); }
