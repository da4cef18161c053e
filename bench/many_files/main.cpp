// What a container in a file of its own costs a process that has thousands of them open.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>

namespace measured { // the type of a root needs a name

namespace rem = remanence;
using anywhere = rem::hash_map<std::uint64_t, rem::string_pi>;
using in_place = rem::btree_map<std::uint64_t, rem::string>;

} // namespace measured

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures containers that have a file each, of 100 entries (a number and a text of 24 characters), all of them open
at once: wall seconds of each call, the median over the files, and of several runs, each of them two fresh processes.

"create": of an empty one, durably. "write 1st": a section that fills it, durably committed; the heap gets its log. "close":
afterwards. In the second process, "open": of one that was closed, the page cache warm; "open slow": nine in ten are faster;
"look up": the first one after that; "write": a section that changes one entry of a file chosen at random; "close idle": of one
that was not changed. Then what each of them, open and idle, takes: descriptors, mappings, memory of the process (pages of its
own, pages of the file that are mapped, and page tables), threads, and blocks on the disk.

"hash_map" holds no addresses, so it may be mapped anywhere; "hash_map copied" is one file copied so often: all
but one find their own address taken. "btree_map" of std strings is mapped where it was created.
)";

constexpr std::uint64_t k_entries = 100;
constexpr std::size_t k_written = 100; // of the files, in the second process

const std::vector<std::size_t>& all_counts() {
    static const std::vector<std::size_t> all = {1, 1'000, 10'000};
    return all;
}

std::string name_of(std::size_t count) { return count == 1 ? "1 file" : std::to_string(count / 1000) + ",000 files"; }

const std::vector<std::string>& all_systems() {
    static const std::vector<std::string> all = {"hash_map", "hash_map copied", "btree_map"};
    return all;
}

fs::path file_of(const fs::path& directory, std::size_t number) {
    return directory / (std::to_string(number) + ".rem");
}

double as_number(std::uint64_t value) { return static_cast<double>(value); }

/// What /proc/self/status says of `key`, in KiB where that is its unit.
double status_of(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key + ":"))
            return std::stod(line.substr(key.size() + 1));
    }
    throw std::runtime_error("/proc/self/status has no " + key);
}

struct process_state {
    double descriptors = as_number(
        static_cast<std::uint64_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator())));
    double mappings = [] {
        std::ifstream maps("/proc/self/maps");
        return as_number(static_cast<std::uint64_t>(
            std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n')));
    }();
    double own_kib = status_of("RssAnon");
    double file_kib = status_of("RssFile");
    double table_kib = status_of("VmPTE");
    double threads = status_of("Threads");
};

class durations {
public:
    template <class F>
    void of(F&& f) {
        const bench::stopwatch watch;
        f();
        seconds_.push_back(watch.seconds());
    }
    void hand_over(const std::string& op, std::vector<std::pair<std::string, double>> more = {}) const {
        bench::hand_over({op, bench::median(seconds_), std::move(more)});
    }
    void hand_over_slow(const std::string& op) const {
        std::vector<double> sorted = seconds_;
        std::ranges::sort(sorted);
        bench::hand_over({op, sorted[(sorted.size() - 1) * 9 / 10]});
    }

private:
    std::vector<double> seconds_;
};

template <class Container>
void put(Container& into, std::uint64_t key, std::uint64_t version) {
    std::string text = std::to_string(key * 1000 + version);
    text.resize(24, '.');
    into.insert_or_assign(key, typename Container::mapped_type(text));
}

/// A batch at a time is being written to: the log of each is a file of 1 MiB and two descriptors until it is closed.
template <class Container>
void populate(const fs::path& directory, std::size_t count) {
    constexpr std::size_t k_batch = 500;
    durations create;
    durations write;
    durations close;
    std::vector<rem::file_backed<Container>> all;
    for (std::size_t i = 0; i < count; ++i)
        create.of([&] { all.emplace_back(file_of(directory, i)); });
    for (std::size_t first = 0; first < count; first += k_batch) {
        const std::size_t end = std::min(first + k_batch, count);
        for (std::size_t i = first; i < end; ++i) {
            write.of([&] {
                all[i].write([&] {
                    for (std::uint64_t key = 0; key < k_entries; ++key)
                        put(*all[i], key, 0);
                });
            });
        }
        for (std::size_t i = first; i < end; ++i)
            close.of([&] { all[i].close(); });
    }
    create.hand_over("create");
    write.hand_over("write 1st");
    close.hand_over("close");
}

void copy_one(const fs::path& directory, std::size_t count) {
    for (std::size_t i = 1; i < count; ++i)
        fs::copy_file(file_of(directory, 0), file_of(directory, i));
}

template <class Container>
void measure(const fs::path& directory, std::size_t count) {
    durations open;
    durations look_up;
    durations write;
    durations close;
    std::vector<rem::file_backed<Container>> all;
    all.reserve(count);
    {
        // What a process needs once: the first one tells which tracker works.
        const rem::file_backed<Container> first(file_of(directory, 0));
    }
    const process_state before;
    for (std::size_t i = 0; i < count; ++i)
        open.of([&] { all.emplace_back(file_of(directory, i)); });
    const process_state opened;
    for (const auto& each : all) {
        look_up.of([&] {
            if (each->find(k_entries - 1) == each->end())
                throw std::runtime_error("a file does not hold what was written");
        });
    }
    const process_state looked_up;
    struct stat info{};
    if (::stat(file_of(directory, 0).c_str(), &info) != 0)
        throw std::runtime_error("a file is gone");
    const double files = as_number(count);
    open.hand_over("open", {{"descriptors", (opened.descriptors - before.descriptors) / files},
                            {"mappings", (opened.mappings - before.mappings) / files},
                            {"own KiB", (looked_up.own_kib - before.own_kib) / files},
                            {"file KiB", (looked_up.file_kib - before.file_kib) / files},
                            {"table KiB", (looked_up.table_kib - before.table_kib) / files},
                            {"threads", (looked_up.threads - before.threads) / files},
                            {"disk KiB", as_number(static_cast<std::uint64_t>(info.st_blocks)) / 2}});
    open.hand_over_slow("open slow");
    look_up.hand_over("look up");
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i)
        order[i] = i;
    std::ranges::shuffle(order, std::mt19937_64(1));
    const std::size_t written = std::min(count, k_written);
    for (std::size_t i = 0; i < written; ++i)
        write.of([&] { all[order[i]].write([&] { put(*all[order[i]], i % k_entries, 1); }); });
    for (std::size_t i = written; i < count; ++i)
        close.of([&] { all[order[i]].close(); });
    write.hand_over("write");
    if (count > written)
        close.hand_over("close idle");
}

void allow_descriptors(std::size_t count) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        throw std::runtime_error("no limit of descriptors is known");
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < count + 2'000)
        throw std::runtime_error("this process may not have so many files open (ulimit -Hn)");
}

void run_child(const std::vector<std::string>& words) {
    const bool is_first = words.at(0) == "populate";
    const std::string& system = words.at(1);
    const fs::path directory = words.at(2);
    const std::size_t count = std::stoul(words.at(3));
    allow_descriptors(count);
    if (system == "btree_map") {
        is_first ? populate<measured::in_place>(directory, count) : measure<measured::in_place>(directory, count);
    } else if (system == "hash_map") {
        is_first ? populate<measured::anywhere>(directory, count) : measure<measured::anywhere>(directory, count);
    } else if (is_first) {
        populate<measured::anywhere>(directory, 1);
        copy_one(directory, count);
    } else {
        measure<measured::anywhere>(directory, count);
    }
}

/// By workload and system, the values of each run by their names.
using gauges = std::map<std::pair<std::size_t, std::string>, std::vector<bench::measurement>>;

void print(const gauges& all) {
    std::printf("\nof each open and idle file, median of the runs\n%-34s", "");
    for (const auto& [name, value] : all.begin()->second.front().more)
        std::printf(" %12s", name.c_str());
    std::printf("\n");
    for (const auto& [key, runs] : all) {
        std::printf("%-34s", (name_of(key.first) + ", " + key.second).c_str());
        for (std::size_t i = 0; i < runs.front().more.size(); ++i) {
            std::vector<double> values;
            for (const bench::measurement& run : runs)
                values.push_back(run.more.at(i).second);
            std::printf(" %12.2f", bench::median(values));
        }
        std::printf("\n");
    }
}

void run_parent(const bench::options& chosen) {
    const bench::scratch_directory scratch(chosen.dir);
    bench::report report("many_files", chosen, "");
    gauges found;
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const std::size_t count : all_counts()) {
            if (!bench::is_wanted(name_of(count), chosen.workloads))
                continue;
            for (const std::string& system : all_systems()) {
                if (!bench::is_wanted(system, chosen.only) || (count == 1 && system == "hash_map copied"))
                    continue;
                bench::note(name_of(count) + ", " + system);
                const bench::scratch_directory files(scratch.path());
                for (const std::string part : {"populate", "measure"}) {
                    for (const bench::measurement& one :
                         bench::run_child({part, system, files.path(), std::to_string(count)})) {
                        if (part == "populate" && system == "hash_map copied")
                            continue;
                        report.add(system, name_of(count), count, one);
                        if (one.op == "open")
                            found[{count, system}].push_back(one);
                    }
                }
            }
        }
    }
    report.finish();
    if (!found.empty())
        print(found);
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "many_files", k_purpose, run_parent, run_child); }
