// A cache whose order of use is kept: how fast it is with an asynchronous commit now and then, and how long those hold it up.
#include "store.hpp"

#include <harness.hpp>
#include <keys.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
using clock_type = std::chrono::steady_clock;

constexpr std::string_view k_purpose =
    R"(Measures a cache of one million entries (of 16 characters and values of 184), all of which fit: nine of ten operations
of one thread get an entry, drawn at random, the tenth sets it anew; both make it the one that was used last, and that is kept,
too. For ten seconds it is busy, and makes an asynchronous commit each 20 or 200 milliseconds, or each second; or, "by sections", each
operation is a transaction of its own that outlives the process, and all are synced each second.

  a million        operations: seconds, those of the points included
  pause, longest   of 32 operations, or of a call that makes a point
  pause, median    of the calls that make a point
  pause, p99       likewise, the 99th percentile
  a point          seconds of all, by their number

The workload of 100,000 entries is for a quick look. What is written (of /proc/PID/io, from the end of the filling to the
close, which finishes everything) and the most memory that was resident are below the tables and in the JSON.
)";

constexpr std::size_t k_value_bytes = 184;
constexpr std::uint64_t k_batch = 32; // operations
constexpr std::chrono::seconds k_measured{10};

struct workload {
    std::string name;
    std::uint64_t entries;
    std::chrono::milliseconds interval;
    bool is_by_sections;
};
const std::vector<workload>& all_workloads() {
    using std::chrono::milliseconds;
    static const std::vector<workload> all{
        {"1,000,000 entries, each 20 ms", 1'000'000, milliseconds(20), false},
        {"1,000,000 entries, each 200 ms", 1'000'000, milliseconds(200), false},
        {"1,000,000 entries, each second", 1'000'000, milliseconds(1000), false},
        {"1,000,000 entries, by sections", 1'000'000, milliseconds(1000), true},
        {"100,000 entries, each 200 ms", 100'000, milliseconds(200), false},
        {"100,000 entries, by sections", 100'000, milliseconds(1000), true},
    };
    return all;
}

std::vector<system_kind> all_systems() {
    std::vector<system_kind> all = remanence_systems();
    [[maybe_unused]] const auto add = [&](std::vector<system_kind> more) {
        for (system_kind& each : more)
            all.push_back(std::move(each));
    };
#ifdef BENCH_LMDB
    add(lmdb_systems());
#endif
#ifdef BENCH_ROCKSDB
    add(rocksdb_systems());
#endif
#ifdef BENCH_REDIS
    add(redis_systems());
#endif
    return all;
}

bool takes_part(const system_kind& system, const workload& task) {
    if (task.is_by_sections)
        return system.has_sections;
    return system.name != "remanence, declared" && (!system.is_slow || task.interval >= std::chrono::seconds(1));
}

/// The number behind `name:` in a file of /proc.
double proc_number(pid_t process, const char* file, const std::string& name) {
    std::ifstream lines("/proc/" + (process == 0 ? std::string("self") : std::to_string(process)) + "/" + file);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name + ":"))
            return std::stod(line.substr(name.size() + 1));
    }
    throw std::runtime_error(std::string(file) + " has no " + name);
}

class child {
public:
    child(const system_kind& system, const workload& task, const fs::path& directory)
        : task_(task), has_points_(system.has_points), store_(system.open(directory)) {}

    void run() {
        for (std::uint64_t n = 0; n < task_.entries; ++n) {
            set(n);
            if (n % 100'000 == 0)
                store_->point();
        }
        store_->point();
        ::sync(); // what the filling wrote is not written by what is measured
        const double written = proc_number(store_->process(), "io", "write_bytes");
        work();
        const pid_t process = store_->process();
        const double resident = 1024 * proc_number(process, "status", "VmHWM");
        store_->close();
        bench::hand_over({"a million",
                          per_million(),
                          {{"written_bytes", proc_number(process, "io", "write_bytes") - written},
                           {"resident_bytes", resident},
                           {"points", static_cast<double>(pauses_.size())}}});
        bench::hand_over({"pause, longest", longest_});
        if (!has_points_)
            return;
        bench::hand_over({"pause, median", bench::median(pauses_)});
        std::ranges::sort(pauses_);
        bench::hand_over({"pause, p99", pauses_[pauses_.size() * 99 / 100]});
        bench::hand_over({"a point", seconds_ / static_cast<double>(pauses_.size())});
    }

private:
    static double since(clock_type::time_point begin) {
        return std::chrono::duration<double>(clock_type::now() - begin).count();
    }
    [[nodiscard]] double per_million() const { return seconds_ * 1e6 / static_cast<double>(operations_); }

    /// The nth key: 16 characters.
    std::string_view key(std::uint64_t n) {
        const std::uint64_t number = bench::scattered_key(n);
        constexpr std::string_view k_digits = "0123456789abcdef";
        for (std::size_t i = 0; i < key_.size(); ++i)
            key_[i] = k_digits[number >> 4 * i & 15];
        return {key_.data(), key_.size()};
    }
    void set(std::uint64_t n) {
        const std::string_view name = key(n);
        std::copy(name.begin(), name.end(), value_.begin());
        const std::uint64_t bits = random_();
        for (std::size_t i = name.size(); i < value_.size(); ++i) // other bytes each time
            value_[i] = static_cast<char>('a' + (bits >> i % 60 & 15));
        store_->set(name, {value_.data(), value_.size()});
    }
    void operate() {
        const std::uint64_t bits = random_();
        const std::uint64_t n = (bits >> 32) * task_.entries >> 32;
        if (bits % 10 == 0)
            set(n);
        else
            store_->get(key(n));
    }

    void work() {
        const auto begin = clock_type::now();
        auto due = begin + task_.interval;
        auto now = begin;
        while (now - begin < k_measured) {
            for (std::uint64_t i = 0; i < k_batch; ++i)
                operate();
            operations_ += k_batch;
            longest_ = std::max(longest_, since(now));
            now = clock_type::now();
            if (now < due)
                continue;
            store_->point();
            pauses_.push_back(since(now));
            longest_ = std::max(longest_, pauses_.back());
            now = clock_type::now();
            due = std::max(due + task_.interval, now);
        }
        seconds_ = since(begin);
    }

    workload task_;
    bool has_points_;
    std::unique_ptr<store> store_;
    std::mt19937_64 random_{1};
    std::array<char, 16> key_{};
    std::array<char, k_value_bytes> value_{};
    std::uint64_t operations_ = 0;
    double seconds_ = 0;
    double longest_ = 0;
    std::vector<double> pauses_;
};

void run_child(const std::vector<std::string>& words) {
    const auto& tasks = all_workloads();
    const auto task = std::ranges::find(tasks, words.at(1), &workload::name);
    for (const system_kind& system : all_systems()) {
        if (system.name == words.at(0))
            child(system, *task, words.at(2)).run();
    }
}

/// Medians of what the tables do not show.
class below_tables {
public:
    void add(const std::string& name, const bench::measurement& result) {
        const auto value = [&](const char* key) {
            const auto at = std::ranges::find(result.more, key, [](const auto& one) { return one.first; });
            return at == result.more.end() ? 0 : at->second;
        };
        if (result.op != "a million")
            return;
        rows& its = all_[name];
        its.operations.push_back(1e6 / result.seconds);
        its.written.push_back(value("written_bytes") / 1e6);
        its.resident.push_back(value("resident_bytes") / 1e6);
    }
    void print(bench::report& to) const {
        for (const auto& [name, its] : all_) {
            std::array<char, 200> line;
            std::snprintf(line.data(), line.size(),
                          "%s: %.0f operations a second, %.0f MB written, %.0f MB of memory at most", name.c_str(),
                          bench::median(its.operations), bench::median(its.written), bench::median(its.resident));
            to.remark(line.data());
        }
    }

private:
    struct rows {
        std::vector<double> operations;
        std::vector<double> written;
        std::vector<double> resident;
    };
    std::map<std::string, rows> all_;
};

/// The rate beside that of no persistence.
void compare_rate(bench::report& report, const std::string& task, double aim) {
    const auto ours = report.seconds("remanence", task, "a million");
    const auto none = report.seconds("no persistence", task, "a million");
    const auto lmdb = report.seconds("LMDB, synced", task, "a million");
    if (!ours || !none)
        return;
    const auto rate = [](double seconds) { return bench::figure_text(1e3 / seconds, "k ops/s"); };
    const std::string peers =
        "ours " + rate(*ours) + ", none " + rate(*none) + (lmdb ? ", LMDB synced " + rate(*lmdb) : "");
    report.compare({"points, " + task + ": rate / none", *none / *ours, bench::bound::at_least, aim, "", peers});
}

void compare_pause(bench::report& report, const std::string& task, const std::string& op, double aim_ms) {
    if (const auto ours = report.seconds("remanence", task, op))
        report.compare({"points, " + task + ": " + op, *ours * 1e3, bench::bound::at_most, aim_ms, "ms"});
}

void run_parent(const bench::options& chosen) {
    bench::report report("cache", chosen, "no persistence");
    below_tables more;
    const std::vector<system_kind> systems = all_systems();
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& task : all_workloads()) {
            for (std::size_t i = 0; i < systems.size(); ++i) {
                const system_kind& system = systems[(i + run) % systems.size()];
                if (!takes_part(system, task) || !bench::is_wanted(system.name, chosen.only) ||
                    !bench::is_wanted(task.name, chosen.workloads))
                    continue;
                const bench::scratch_directory scratch(chosen.dir);
                for (const bench::measurement& result :
                     bench::run_child({system.name, task.name, scratch.path().string()})) {
                    report.add(system.name, task.name, task.entries, result);
                    more.add(task.name + ", " + system.name, result);
                }
            }
        }
    }
    more.print(report);
    compare_rate(report, "1,000,000 entries, each 200 ms", 0.8);
    compare_pause(report, "1,000,000 entries, each 200 ms", "pause, p99", 50);
    compare_pause(report, "1,000,000 entries, each 200 ms", "pause, longest", 100);
    compare_rate(report, "1,000,000 entries, each 20 ms", 0.5);
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "cache", k_purpose, run_parent, run_child); }
