// What a schema costs, and what it gives: opening with many types, dumping and loading beside other libraries, migration.
#include "objects.hpp"

#include <harness.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_purpose =
    R"(Measures what the schema of a heap costs and gives; seconds, the median of several runs.

  open       heap::open_existing, then finding all roots, in a heap without a root, with one, and with 300 of 300 types
  dump, load the address book (148,397 entries) and a vector of a million numbers of 64 bits (REMANENCE_BENCH_NUMBERS: so
             many), to a file that is not synced, and from there into a fresh container, heap or database
  migration  a map of a million structs gets a new member, with its commit; two members change places, where they are; and the map is
             copied within the heap, likewise

The key bytes of the JSON is the size of the dump, megabytes_per_second what that makes.
)";

std::vector<dump_system> all_systems() {
    return {
        portable_system(),      binary_form_system(),
#ifdef BENCH_BOOST_SERIALIZATION
        boost_binary_system(),  boost_text_system(),
#endif
#ifdef BENCH_CEREAL
        cereal_binary_system(), cereal_json_system(),
#endif
#ifdef BENCH_SQLITE
        sqlite_system(),
#endif
    };
}

std::uint64_t number_count() {
    const char* const wanted = std::getenv("REMANENCE_BENCH_NUMBERS"); // NOLINT(concurrency-mt-unsafe): one thread
    return wanted != nullptr ? std::stoull(wanted) : 1'000'000;
}

void measure_dump(const dump_system& system, workload what, const fs::path& directory) {
    const fs::path file = directory / "dump";
    const dump_times times = system.run(what, number_count(), file);
    const std::uint64_t expected =
        what == workload::book ? checksum(make_book()) : checksum(make_numbers(number_count()));
    if (times.checksum != expected)
        throw std::runtime_error(system.name + " loaded something else than it dumped");
    const auto bytes = static_cast<double>(fs::file_size(file));
    const auto handed = [&](const std::string& op, double seconds) {
        bench::hand_over({op, seconds, {{"bytes", bytes}, {"megabytes_per_second", bytes / seconds / 1e6}}});
    };
    handed("dump", times.dump);
    handed("load", times.load);
}

void run_child(const std::vector<std::string>& words) {
    const fs::path directory = words.at(2);
    if (words.at(1) == "open")
        return measure_open(directory);
    if (words.at(1) == "migration")
        return measure_migration(directory);
    for (const dump_system& system : all_systems()) {
        if (system.name == words.at(0))
            measure_dump(system, words.at(1) == "address book" ? workload::book : workload::numbers, directory);
    }
}

/// A line for our time beside the peer's.
void compare_times(bench::report& report, const std::string& what, const std::string& workload,
                   const std::pair<std::string, std::string>& system_and_op,
                   const std::pair<std::string, std::string>& peer_and_op, double limit) {
    const auto ours = report.seconds(system_and_op.first, workload, system_and_op.second);
    const auto theirs = report.seconds(peer_and_op.first, workload, peer_and_op.second);
    if (ours && theirs)
        report.compare({what, *ours / *theirs, bench::bound::at_most, limit, "",
                        "ours " + bench::duration_text(*ours) + ", " + peer_and_op.first + ", " + peer_and_op.second +
                            ' ' + bench::duration_text(*theirs)});
}

void compare(bench::report& report) {
    const std::pair<std::string, std::string> copy = {"heap", "copy in the heap"};
    compare_times(report, "migration, objects made anew: time / a copy's", "migration", {"heap", "migration"}, copy, 2);
    compare_times(report, "migration in place: time / a copy's", "migration", {"heap", "migration in place"}, copy,
                  1.2);
    const std::pair<std::string, std::string> portable = {"portable form", "load"};
    compare_times(report, "load of the address book: time / cereal binary's", "address book", portable,
                  {"cereal binary", "load"}, 1);
    compare_times(report, "load of 10^6 numbers: time / Boost text's", "numbers", portable, {"Boost text", "load"}, 1);
}

void run_parent(const bench::options& chosen) {
    bench::report report("schema", chosen, "portable form");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<dump_system> systems = all_systems();
    const auto measure = [&](const std::string& system, const std::string& workload, std::uint64_t entries) {
        if (!bench::is_wanted(system, chosen.only) || !bench::is_wanted(workload, chosen.workloads))
            return;
        bench::note(workload + ", " + system);
        const bench::scratch_directory directory(scratch.path());
        for (const bench::measurement& each : bench::run_child({system, workload, directory.path().string()}))
            report.add(system, workload, entries, each);
    };
    for (unsigned run = 0; run < chosen.runs; ++run) {
        measure("heap", "open", 300);
        for (const char* const workload : {"address book", "numbers"}) {
            for (std::size_t i = 0; i < systems.size(); ++i)
                measure(systems[(i + run) % systems.size()].name, workload, number_count());
        }
        measure("heap", "migration", 1'000'000);
    }
    compare(report);
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "schema", k_purpose, run_parent, run_child); }
