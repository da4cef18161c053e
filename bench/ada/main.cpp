// The table of the Ada 2012 persistent containers' paper: a list of characters that is bound to a file, beside serialising it.
#include "store.hpp"

#include <harness.hpp>

#include <sys/stat.h>

#include <array>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_purpose =
    R"(Measures a list of characters that lives in a file: rem::list in a file of its own (rem::file_backed), and rem::vector likewise, beside a std::list that
is read from a file and written to a new one, which takes the place of the old. Wall seconds; each step is a fresh process, the
page cache is warm, and every write is durable (synced, the directory too, where a file is new).

  insert+modify+write  an empty list gets all characters, each of them is changed, and the list is written
  load+write           the list is loaded, and written as it is
  load+modify+write    it is loaded, each character is changed, and it is written

The keys disk_bytes and bytes of the JSON are what the file takes then.
)";

constexpr std::array<std::uint64_t, 4> k_sizes = {10'000, 100'000, 1'000'000, 10'000'000};
constexpr std::array<const char*, 3> k_steps = {"insert+modify+write", "load+write", "load+modify+write"};

std::vector<system_kind> all_systems() {
    return {
        remanence_list_system(),
        remanence_vector_system(),
        streams_system(),
#ifdef BENCH_BOOST_SERIALIZATION
        boost_serialization_system(),
#endif
    };
}

void measure(const system_kind& system, const std::string& step, std::uint64_t characters, const fs::path& file) {
    const std::unique_ptr<store> opened = system.open(file);
    const bench::stopwatch watch;
    if (step == k_steps[0]) {
        opened->make();
        opened->insert(characters);
    } else {
        opened->load();
    }
    if (step != k_steps[1])
        opened->modify();
    opened->write();
    const double seconds = watch.seconds();
    struct stat facts{};
    if (::stat(file.c_str(), &facts) != 0)
        throw std::runtime_error("there is no file");
    bench::hand_over(
        {step,
         seconds,
         {{"disk_bytes", static_cast<double>(facts.st_blocks) * 512}, {"bytes", static_cast<double>(facts.st_size)}}});
}

/// After all steps, in another process: each character was changed twice.
void check(const system_kind& system, std::uint64_t characters, const fs::path& file) {
    const std::unique_ptr<store> opened = system.open(file);
    opened->load();
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < characters; ++i)
        expected += static_cast<unsigned char>(next_character(next_character(first_character(i))));
    if (opened->sum() != expected)
        throw std::runtime_error("the list is not what was put in");
}

void run_child(const std::vector<std::string>& words) {
    for (const system_kind& system : all_systems()) {
        if (system.name != words.at(0))
            continue;
        if (words.at(1) == "check")
            check(system, std::stoull(words.at(2)), words.at(3));
        else
            measure(system, words.at(1), std::stoull(words.at(2)), words.at(3));
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("ada", chosen, "rem::list");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<system_kind> systems = all_systems();
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const std::uint64_t characters : k_sizes) {
            const std::string workload = std::to_string(characters) + " characters";
            for (std::size_t i = 0; i < systems.size(); ++i) {
                const std::string& name = systems[(i + run) % systems.size()].name;
                if (!bench::is_wanted(name, chosen.only) || !bench::is_wanted(workload, chosen.workloads))
                    continue;
                bench::note(workload + ", " + name);
                const bench::scratch_directory directory(scratch.path());
                const std::string file = (directory.path() / "list").string();
                for (const char* const step : k_steps) {
                    bench::warm_page_cache(directory.path());
                    for (const bench::measurement& result :
                         bench::run_child({name, step, std::to_string(characters), file}))
                        report.add(name, workload, characters, result);
                }
                static_cast<void>(bench::run_child({name, "check", std::to_string(characters), file}));
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "ada", k_purpose, run_parent, run_child); }
