// Asynchronous commits of scattered changes: how long each holds the program up, and what is written for it.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures asynchronous commits of a vector of 400 MB in which 1,000, 10,000, 50,000 or 100,000 words at random have got 1
added since the point before: 20 points, one every 200 milliseconds, or later, when the one before has held the program up
for longer.

  pause, median    of the calls that make the points
  pause, longest
  a point          seconds of all, by their number: 0.2 when each is in time

The keys logged_bytes, image_bytes (before the close), checkpoints, and checkpoint_waits are in the JSON.
)";

constexpr std::uint64_t k_words = 50'000'000;
constexpr int k_points = 20;
constexpr auto k_interval = std::chrono::milliseconds(200);

using numbers = rem::vector<std::uint64_t>;

struct system_kind {
    std::string_view name;
    void (*make_point)(rem::heap& of);
};
constexpr std::array<system_kind, 3> k_systems{
    {{"asynchronous", [](rem::heap& of) { static_cast<void>(of.commit_async()); }},
     {"lazy", [](rem::heap& of) { of.commit(rem::durability::lazy); }},
     {"durable", [](rem::heap& of) { of.commit(); }}}};
constexpr std::array<unsigned, 4> k_changes{1'000, 10'000, 50'000, 100'000};

std::string workload_of(unsigned changes) { return std::to_string(changes) + " words a point"; }

void make(const fs::path& file) {
    rem::heap heap = rem::heap::create(file);
    heap.write([&] { heap.root<numbers>("numbers").resize(k_words, 1); });
    heap.close();
}

void measure(const fs::path& file, const system_kind& system, unsigned changes) {
    rem::heap heap = rem::heap::open_existing(file);
    numbers& all = *heap.find_root<numbers>("numbers");
    std::uint64_t sum = 0;
    for (const std::uint64_t each : all) // the pages are in memory
        sum += each;
    std::mt19937_64 random(1);
    std::vector<double> pauses;
    const bench::stopwatch whole;
    auto due = std::chrono::steady_clock::now();
    for (int point = 0; point < k_points; ++point) {
        for (unsigned i = 0; i < changes; ++i)
            ++all[random() % k_words];
        due = std::max(due + k_interval, std::chrono::steady_clock::now());
        std::this_thread::sleep_until(due);
        const bench::stopwatch watch;
        system.make_point(heap);
        pauses.push_back(watch.seconds());
    }
    const double seconds = whole.seconds();
    heap.sync();
    const rem::heap_stats stats = heap.stats();
    const std::vector<std::pair<std::string, double>> more{
        {"logged_bytes", static_cast<double>(stats.logged_bytes)},
        {"image_bytes", static_cast<double>(stats.image_bytes)},
        {"checkpoints", static_cast<double>(stats.checkpoints)},
        {"checkpoint_waits", static_cast<double>(stats.checkpoint_waits)}};
    bench::hand_over({"pause, median", bench::median(pauses), more});
    bench::hand_over({"pause, longest", *std::ranges::max_element(pauses)});
    bench::hand_over({"a point", seconds / k_points});
    heap.close();
    rem::heap again = rem::heap::open_existing(file);
    std::uint64_t after = 0;
    for (const std::uint64_t each : *again.find_root<numbers>("numbers"))
        after += each;
    if (after != sum + std::uint64_t{changes} * k_points)
        throw std::runtime_error("something is lost");
}

void run_child(const std::vector<std::string>& words) {
    if (words.at(0) == "make") {
        make(words.at(1));
        return;
    }
    for (const system_kind& system : k_systems) {
        if (system.name == words.at(2))
            measure(words.at(1), system, static_cast<unsigned>(std::stoul(words.at(3))));
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("points", chosen, "");
    const bench::scratch_directory scratch(chosen.dir);
    const fs::path file = scratch.path() / "heap";
    bench::run_child({"make", file.string()});
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const unsigned changes : k_changes) {
            for (std::size_t i = 0; i < k_systems.size(); ++i) {
                const std::string name(k_systems[(i + run) % k_systems.size()].name);
                if (!bench::is_wanted(name, chosen.only) || !bench::is_wanted(workload_of(changes), chosen.workloads))
                    continue;
                for (const bench::measurement& result :
                     bench::run_child({"measure", file.string(), name, std::to_string(changes)}))
                    report.add(name, workload_of(changes), changes, result);
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "points", k_purpose, run_parent, run_child); }
