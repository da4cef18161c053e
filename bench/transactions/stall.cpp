// Small durable transactions at a steady rate: how long one takes at worst, while checkpoints run.
#include "store.hpp"

#include <harness.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <thread>

namespace {

namespace fs = std::filesystem;
using seconds = std::chrono::duration<double>;

constexpr std::string_view k_purpose =
    R"(Measures durable transactions that add 1 to three random numbers of 10 million in a map, by one thread, 1,000 of them
every second for 40 seconds: long enough for several checkpoints of ours. The time of a transaction
counts from the moment at which it was due, so that one that takes long is in the time of those that wait for it, too.
The system "device" is one durable write for each transaction.
Each run is a fresh process on the files of the one before, which reads everything once and then measures.
)";

constexpr std::uint64_t k_entries = 10'000'000;
constexpr std::uint64_t k_transactions = 40'000;
constexpr std::chrono::milliseconds k_interval{1};

std::vector<system_kind> all_systems() {
    std::vector<system_kind> all = remanence_systems();
    std::erase_if(all, [](const system_kind& each) { return each.name == "remanence, fallback"; });
    all.push_back(device_system());
#ifdef BENCH_ROCKSDB
    all.push_back(rocksdb_system());
#endif
#ifdef BENCH_SQLITE
    all.push_back(sqlite_system());
#endif
    return all;
}

void measure(store& numbers) {
    const std::uint64_t before = numbers.sum();
    std::mt19937_64 random(std::random_device{}());
    std::vector<double> times;
    const std::uint64_t checkpoints = numbers.checkpoints();
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < k_transactions; ++i) {
        const auto due = begin + i * k_interval;
        std::this_thread::sleep_until(due);
        const std::uint64_t first = random() % (k_entries - 2);
        numbers.update(0, {first, (first + k_entries / 3) % k_entries, (first + k_entries / 2) % k_entries});
        times.push_back(seconds(std::chrono::steady_clock::now() - due).count());
    }
    const auto made = static_cast<double>(numbers.checkpoints() - checkpoints);
    if (numbers.sum() - before != k_updates * k_transactions)
        throw std::runtime_error("the changes of a transaction are not there");
    std::ranges::sort(times);
    bench::hand_over({"p50", times[times.size() / 2], {{"checkpoints", made}}});
    bench::hand_over({"p99", times[times.size() * 99 / 100]});
    bench::hand_over({"p99.9", times[times.size() * 999 / 1000]});
    bench::hand_over({"max", times.back()});
}

void run_child(const std::vector<std::string>& words) {
    const auto all = all_systems();
    const auto system = std::ranges::find_if(all, [&](const system_kind& each) { return each.name == words.at(1); });
    const auto numbers = system->open({words.at(2), shape::map, level::durable, k_entries, 1});
    if (words.at(0) == "fill")
        numbers->fill();
    else
        measure(*numbers);
    numbers->close();
}

void run_parent(const bench::options& chosen) {
    bench::report report("stall", chosen, "remanence, declared");
    const bench::scratch_directory scratch(chosen.dir);
    std::vector<system_kind> systems = all_systems();
    std::erase_if(systems, [&](const system_kind& each) { return !bench::is_wanted(each.name, chosen.only); });
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const system_kind& system = systems[(i + run) % systems.size()];
            const fs::path directory = scratch.path() / system.family;
            if (!fs::exists(directory)) {
                fs::create_directory(directory);
                bench::note("filling " + system.name);
                bench::run_child({"fill", system.name, directory});
            }
            bench::note(system.name);
            for (const bench::measurement& result : bench::run_child({"measure", system.name, directory}))
                report.add(system.name, "1,000 a second", k_entries, result);
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "stall", k_purpose, run_parent, run_child); }
