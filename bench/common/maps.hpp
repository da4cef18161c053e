// What the benchmarks of maps share: the best of repetitions in one process, commits in a heap, and the runs of a parent.
// Depends on the library and the standard library.
#pragma once

#include "harness.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bench {

/// CPU seconds per key.
template <class Key, class F>
double seconds_of_each(const std::vector<Key>& keys, const F& f) {
    const stopwatch watch;
    for (const Key& key : keys)
        f(key);
    return watch.cpu_seconds() / static_cast<double>(keys.size());
}

/// By the key, or by a view of it where the map keeps keys of another type.
template <class Map, class Key>
auto find_in(Map& map, const Key& key) {
    if constexpr (std::is_same_v<Key, typename Map::key_type>)
        return map.find(key);
    else
        return map.find(std::string_view(key));
}

/// CPU seconds per element, of ten iterations.
template <class Map>
double seconds_of_iteration(const Map& map, std::uint64_t& sum) {
    const stopwatch watch;
    for (int i = 0; i < 10; ++i) {
        for (const auto& element : map)
            sum += element.second;
    }
    return watch.cpu_seconds() / static_cast<double>(map.size()) / 10;
}

/// `measure()` gives the same operations each time; hands over the best of each. Its first call brings the memory in, and
/// does not count.
template <class Measure>
void hand_over_best(std::size_t entries, const Measure& measure) {
    (void)measure();
    const std::size_t repetitions = std::max<std::size_t>(3, 300'000 / entries);
    std::vector<measurement> best = measure();
    for (std::size_t i = 1; i < repetitions; ++i) {
        const std::vector<measurement> one = measure();
        for (std::size_t k = 0; k < best.size(); ++k)
            best[k].seconds = std::min(best[k].seconds, one[k].seconds);
    }
    for (const measurement& each : best)
        hand_over(each);
}

/// Fills the map, which is in the heap, and hands over what a commit takes that erases one element, of random order, and
/// inserts it again with another value.
template <class Map, class Key>
void measure_commits(remanence::heap& heap, Map& map, std::vector<Key> keys) {
    using stored = typename Map::key_type;
    constexpr std::size_t k_commits = 2'000;
    std::mt19937_64 random(3);
    heap.write([&] {
        for (const Key& key : keys)
            map.emplace(stored(key), std::uint64_t{1});
    });
    std::ranges::shuffle(keys, random);
    heap.checkpoint(); // the commits to be measured begin alike
    const std::uint64_t changed = heap.stats().changed_bytes;
    const stopwatch watch;
    for (std::size_t i = 0; i < k_commits; ++i) {
        heap.write(remanence::durability::lazy, [&] {
            const stored key(keys[i % keys.size()]);
            map.erase(key);
            map.emplace(key, std::uint64_t{2});
        });
    }
    const double seconds = watch.cpu_seconds() / k_commits;
    const auto found = static_cast<double>(heap.stats().changed_bytes - changed);
    hand_over({"commit", seconds, {{"changed_bytes", found / k_commits}}});
}

struct map_workload {
    std::string keys;
    std::size_t entries;
};

/// In the parent: runs children with the words system, keys, entries and a directory, and prints what they hand over, with
/// the first system for reference. `is_possible` says whether a system can have such keys.
inline void
run_map_benchmark(const options& chosen, const std::string& benchmark, const std::vector<std::string>& systems,
                  const std::vector<map_workload>& workloads,
                  const std::function<bool(const std::string& system, const std::string& keys)>& is_possible = {}) {
    report found(benchmark, chosen, systems.front());
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const map_workload& work : workloads) {
            const std::string title = work.keys + " " + std::to_string(work.entries);
            if (!is_wanted(title, chosen.workloads))
                continue;
            for (std::size_t i = 0; i < systems.size(); ++i) {
                const std::string& each = systems[(i + run) % systems.size()];
                if (!is_wanted(each, chosen.only) || (is_possible && !is_possible(each, work.keys)))
                    continue;
                const scratch_directory scratch(chosen.dir);
                note(std::string(each).append(", ").append(title));
                for (const measurement& result :
                     run_child({each, work.keys, std::to_string(work.entries), scratch.path()}))
                    found.add(each, title, work.entries, result);
            }
        }
    }
    found.finish();
}

} // namespace bench
