// btree_map and hash_map in a heap beside the volatile containers of the standard library, Abseil and Boost.
#include "measured.hpp"

#include <algorithm>
#include <string_view>

namespace {

using containers::system;

constexpr std::string_view k_purpose = R"(Measures btree_map and hash_map, stored in a heap, beside std::map,
std::unordered_map and those of Abseil and Boost in ordinary memory, as far as these are installed: CPU seconds per element, by Google
Benchmark, without commits. Keys are 64-bit numbers or texts of 16 to 47 characters, values 64-bit numbers; each container has its
library's default comparison or hash. Elements are inserted (into a container that is empty and grows), found, looked for in vain,
and erased in random orders; "iterate" sums the values. Below 10,000 elements there are as many containers as have 10,000 together.
Each run is a fresh process.
)";

std::vector<system> all_systems() {
    std::vector<system> all;
    containers::add_ours(all);
    containers::add_standard(all);
#ifdef BENCH_ABSL
    containers::add_absl(all);
#endif
#ifdef BENCH_BOOST_MAP
    containers::add_boost_map(all);
#endif
#ifdef BENCH_BOOST_UNORDERED_FLAT_MAP
    containers::add_boost_unordered_flat_map(all);
#endif
    return all;
}

void run_child(const std::vector<std::string>& words) {
    const std::vector<system> all = all_systems();
    const auto found = std::ranges::find(all, words.at(0), &system::name);
    if (found == all.end())
        throw std::runtime_error("there is no system " + words[0]);
    found->measure({words.at(1), std::stoul(words.at(2)), words.at(3)});
}

/// One table for each kind of keys, number of them and kind of container, so that a reference is there for each.
void run_parent(const bench::options& chosen) {
    bench::report found("containers", chosen, "");
    const std::vector<system> all = all_systems();
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const std::string keys : {"numbers", "texts"}) {
            for (std::size_t entries = 100; entries <= 10'000'000; entries *= 10) {
                for (std::size_t i = 0; i < all.size(); ++i) {
                    const system& each = all[(i + run) % all.size()];
                    const std::string title =
                        keys + " " + std::to_string(entries) + (each.is_ordered ? " ordered" : " hashed");
                    if (!bench::is_wanted(title, chosen.workloads) || !bench::is_wanted(each.name, chosen.only) ||
                        (keys == "numbers" && !each.has_numbers))
                        continue;
                    const bench::scratch_directory scratch(chosen.dir);
                    bench::note(each.name + ", " + title);
                    for (const bench::measurement& result :
                         bench::run_child({each.name, keys, std::to_string(entries), scratch.path()}))
                        found.add(each.name, title, entries, result);
                }
            }
        }
    }
    found.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "containers", k_purpose, run_parent, run_child); }
