// A heap of four times the memory that the process may use: built in one commit or in many, read, and changed at random.
#include "store.hpp"

#include <harness.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_limit_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t k_entries = 4 * k_limit_bytes / (k_value_bytes + sizeof(std::uint64_t));
constexpr std::uint64_t k_look_ups = 1'000;
constexpr std::uint64_t k_more_look_ups = 20'000;
constexpr std::uint64_t k_transactions = 5;
constexpr std::uint64_t k_updates = 200;      // of each
constexpr std::uint64_t k_changed_of_all = 8; // one in so many, by one transaction: on each page one or two

constexpr std::string_view k_purpose =
    R"(Measures what does not fit into memory: 4.3 million entries of 248 bytes, 1 GiB together, by processes of a control group
that may use 256 MiB, the page cache included. Run it as root, or where control groups may be made.

  build     all entries in the order of their keys; durable. Remanence and LMDB in one transaction, "many commits" and
            RocksDB in batches of 10,000
  open      in a fresh process, until the first can be looked up
  look up   1,000 of them at random, then; the time of one, and what it reads from the disk
  look on   20,000 more; likewise
  update    5 durable transactions of 200 random entries each; the time of one
  count     all entries in order, and whether something is lost
  change    in another process, one durable transaction changes every eighth entry, on all pages, in order

)";

std::vector<system_kind> all_systems() {
    return {
        remanence_packed_system(),
        remanence_page_by_page_system(),
        remanence_one_commit_system(),
        remanence_many_commits_system(),
#ifdef BENCH_LMDB
        lmdb_system(),
#endif
#ifdef BENCH_ROCKSDB
        rocksdb_system(),
#endif
    };
}

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

/// A control group below the process's own, with the limit; of version 1, or 2. Removed at the end.
class limited_group {
public:
    limited_group() {
        std::istringstream lines(text_of("/proc/self/cgroup")); // number:controllers:path
        for (std::string line; std::getline(lines, line) && path_.empty();) {
            const std::size_t first = line.find(':');
            const std::size_t second = line.find(':', first + 1);
            if (second == std::string::npos)
                continue;
            const std::string group = line.substr(second + 1);
            const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
            if (controllers.find(",memory,") != std::string::npos)
                make(fs::path("/sys/fs/cgroup/memory" + group), "memory.limit_in_bytes");
            else if (controllers == ",,")
                make(fs::path("/sys/fs/cgroup" + group), "memory.max");
        }
    }
    limited_group(const limited_group&) = delete;
    limited_group& operator=(const limited_group&) = delete;
    ~limited_group() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    [[nodiscard]] bool is_made() const { return !path_.empty(); }
    /// What runs a program in it.
    [[nodiscard]] std::vector<std::string> runner() const {
        return {"/bin/sh", "-c", "echo $$ > '" + (path_ / "cgroup.procs").string() + "' && exec \"$@\"", "sh"};
    }

private:
    void make(const fs::path& parent, const char* limit) {
        const fs::path path = parent / ("remanence-bench-" + std::to_string(::getpid()));
        std::error_code failed;
        if (!fs::create_directory(path, failed))
            return;
        std::ofstream(path / limit) << k_limit_bytes;
        if (std::strtoull(text_of(path / limit).c_str(), nullptr, 10) == k_limit_bytes)
            path_ = path;
        else
            fs::remove(path, failed);
    }

    fs::path path_;
};

std::mt19937_64 numbers(std::uint64_t seed) { return std::mt19937_64(seed); }

void expect(bool is_so) {
    if (!is_so)
        throw std::runtime_error("something is lost");
}

void build(store& made) {
    const bench::stopwatch watch;
    made.build(k_entries);
    bench::hand_over({"build", watch.seconds()});
}

/// By this process from the disk, so far.
double bytes_read() {
    std::istringstream lines(text_of("/proc/self/io"));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("read_bytes: "))
            return std::stod(line.substr(line.find(' ')));
    }
    return 0;
}

template <class Random>
void look_up(const char* op, store& opened, Random& random, std::uint64_t count) {
    const double read_before = bytes_read();
    const bench::stopwatch watch;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t key = random() % k_entries;
        const value_words found = opened.look_up(key);
        expect(found[0] == key && found[5] == first_value(key)[5]);
    }
    const auto times = static_cast<double>(count);
    bench::hand_over({op, watch.seconds() / times, {{"read_bytes", (bytes_read() - read_before) / times}}});
}

void use(store& opened) {
    auto random = numbers(1);
    look_up("look up", opened, random, k_look_ups);
    look_up("look on", opened, random, k_more_look_ups);
    {
        const bench::stopwatch watch;
        for (std::uint64_t i = 0; i < k_transactions; ++i) {
            std::vector<std::uint64_t> keys(k_updates);
            for (std::uint64_t& key : keys)
                key = random() % k_entries;
            opened.update(keys);
        }
        bench::hand_over({"update", watch.seconds() / k_transactions});
    }
    const bench::stopwatch watch;
    const store::totals all = opened.count();
    bench::hand_over({"count", watch.seconds()});
    expect(all.entries == k_entries && all.updates == k_transactions * k_updates);
}

void change(store& opened) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = 0; key < k_entries; key += k_changed_of_all)
        keys.push_back(key);
    const bench::stopwatch watch;
    opened.update(keys);
    bench::hand_over({"change", watch.seconds()});
    const store::totals all = opened.count();
    expect(all.entries == k_entries && all.updates == k_transactions * k_updates + keys.size());
}

void run_child(const std::vector<std::string>& words) {
    for (const system_kind& system : all_systems()) {
        if (system.name != words.at(1))
            continue;
        const bench::stopwatch watch;
        const std::unique_ptr<store> opened = system.open(words.at(2));
        if (words.at(0) == "use")
            bench::hand_over({"open", watch.seconds()});
        const auto step = words.at(0) == "build" ? build : words.at(0) == "use" ? use : change;
        step(*opened);
        opened->close();
    }
}

void run_parent(const bench::options& chosen) {
    const limited_group group;
    if (!group.is_made()) {
        throw std::runtime_error(
            "no control group with a limit on memory can be made here. Run it as root, on a system "
            "whose /sys/fs/cgroup may be written.");
    }
    bench::report report("beyond_memory", chosen, "LMDB");
    const bench::scratch_directory scratch(chosen.dir);
    const std::vector<system_kind> systems = all_systems();
    std::string killed;
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const std::string& name = systems[(i + run) % systems.size()].name;
            if (!bench::is_wanted(name, chosen.only))
                continue;
            const fs::path directory = scratch.path() / "store";
            fs::create_directory(directory);
            for (const char* const step : {"build", "use", "change"}) {
                bench::note(name + ", " + step);
                try {
                    for (const bench::measurement& result :
                         bench::run_child({step, name, directory.string()}, group.runner()))
                        report.add(name, "1 GiB in 256 MiB", k_entries, result);
                } catch (const std::runtime_error& what) {
                    killed += "  " + name + ", " + step + ": " + what.what() + '\n';
                    break;
                }
            }
            fs::remove_all(directory);
        }
    }
    report.finish();
    if (!killed.empty())
        throw std::runtime_error("these were killed, or failed:\n" + killed);
}

} // namespace

int main(int count, char* words[]) {
    return bench::run(count, words, "beyond_memory", k_purpose, run_parent, run_child);
}
