#include "commit.hpp"
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>

namespace bench {

namespace {

/// Four significant digits at most, without exponents, since people compare columns.
std::string for_people(double value) {
    std::array<char, 64> text;
    const int decimals = value >= 100 ? 1 : value >= 0.1 ? 3 : value >= 0.01 ? 4 : 6;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

std::string ratio(double value) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "x%.2f", value);
    return text.data();
}

std::string number(double value) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.9g", value);
    return text.data();
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result += '\\';
        result += c;
    }
    return result += '"';
}

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
}

} // namespace

std::string duration_text(double seconds) {
    struct unit {
        const char* name;
        double seconds;
    };
    constexpr std::array<unit, 4> k_units{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
    const auto* const fits = std::find_if(k_units.begin(), k_units.end() - 1,
                                          [&](const unit& each) { return seconds >= 0.9995 * each.seconds; });
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.3g %s", seconds / fits->seconds, fits->name);
    return text.data();
}

double median(std::vector<double> values) {
    if (values.empty())
        throw std::logic_error("the median of nothing");
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> report::row::seconds() const {
    std::vector<double> result;
    result.reserve(runs.size());
    for (const measurement& run : runs)
        result.push_back(run.seconds);
    return result;
}

const report::row* report::find(const std::string& system, const std::string& workload, const std::string& op) const {
    const auto is_it = [&](const row& one) { return one.system == system && one.workload == workload && one.op == op; };
    const auto at = std::find_if(rows_.begin(), rows_.end(), is_it);
    return at == rows_.end() ? nullptr : &*at;
}

std::optional<double> report::seconds(const std::string& system, const std::string& workload,
                                      const std::string& op) const {
    const row* const found = find(system, workload, op);
    return found == nullptr ? std::nullopt : std::optional(median(found->seconds()));
}

void report::add(const std::string& system, const std::string& workload, std::uint64_t entries,
                 const measurement& result) {
    for (row& one : rows_) {
        if (one.system != system || one.workload != workload || one.op != result.op)
            continue;
        one.runs.push_back(result);
        return;
    }
    rows_.push_back({system, workload, entries, result.op, {result}});
}

report::~report() {
    if (is_finished_ || rows_.empty())
        return;
    try {
        note("");
        std::printf("\nNot all was measured. What is finished:\n");
        print();
        write_json();
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "%s: %s\n", benchmark_.c_str(), reason.what());
    }
}

void report::finish() {
    if (rows_.empty())
        throw std::runtime_error("nothing was measured: no workload and system have these names (--workload, --only)");
    is_finished_ = true;
    note("");
    print();
    write_json();
}

void report::print() const {
    std::vector<std::string> workloads;
    for (const row& one : rows_)
        add_once(workloads, one.workload);
    for (const std::string& workload : workloads)
        print_workload(workload);
    if (!remarks_.empty())
        std::printf("\n%s", remarks_.c_str());
    if (!aims_.empty())
        std::printf("\n%s", aims_.c_str());
    std::fflush(stdout);
}

void report::print_workload(const std::string& workload) const {
    std::vector<std::string> systems;
    std::vector<std::string> ops;
    std::uint64_t entries = 0;
    std::size_t runs = 0;
    double longest = 0;
    double shortest = 1;
    for (const row& one : rows_) {
        if (one.workload != workload)
            continue;
        const double seconds = median(one.seconds());
        longest = std::max(longest, seconds);
        shortest = std::min(shortest, seconds);
        add_once(systems, one.system);
        add_once(ops, one.op);
        entries = one.entries;
        runs = std::max(runs, one.runs.size());
    }
    const bool is_short = longest < 1e-4 || shortest < 1e-6;
    std::printf("\n%s: %llu entries, median of %zu runs, %s\n", workload.c_str(),
                static_cast<unsigned long long>(entries), runs, is_short ? "nanoseconds" : "seconds");
    std::printf("%-34s", "");
    for (const std::string& op : ops)
        std::printf(" %*s", static_cast<int>(std::max<std::size_t>(op.size(), 10)), op.c_str());
    std::printf("\n");
    for (const std::string& system : systems) {
        std::string ratios;
        bool has_ratios = false;
        std::printf("%-34s", system.c_str());
        for (const std::string& op : ops) {
            const std::size_t width = std::max<std::size_t>(op.size(), 10) + 1;
            const row* const one = find(system, workload, op);
            const row* const base = find(reference_, workload, op);
            const std::string value = one == nullptr ? "-" : for_people(median(one->seconds()) * (is_short ? 1e9 : 1));
            std::printf("%*s", static_cast<int>(width), value.c_str());
            std::string relative;
            if (one != nullptr && base != nullptr && one != base)
                relative = ratio(median(one->seconds()) / median(base->seconds()));
            has_ratios = has_ratios || !relative.empty();
            ratios.append(width - std::min(width, relative.size()), ' ').append(relative);
        }
        std::printf("\n");
        if (has_ratios)
            std::printf("%-34s%s\n", "", ratios.c_str());
    }
}

void report::write_json() const {
    if (json_.empty())
        return;
    std::ofstream file(json_);
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, sizeof "2026-12-31"> date{};
    std::strftime(date.data(), date.size(), "%Y-%m-%d", &parts);
    file << "{\"benchmark\": " << quoted(benchmark_) << ", \"commit\": " << quoted(BENCH_COMMIT)
         << ", \"date\": " << quoted(date.data());
    for (const auto& [name, fact] : machine_facts(directory_))
        file << ", " << quoted(name) << ": " << quoted(fact);
    file << ",\n\"rows\": [";
    const char* separator = "\n";
    for (const row& one : rows_) {
        const std::vector<double> seconds = one.seconds();
        file << separator << "  {\"system\": " << quoted(one.system) << ", \"workload\": " << quoted(one.workload)
             << ", \"entries\": " << one.entries << ", \"op\": " << quoted(one.op)
             << ", \"seconds\": " << number(median(seconds))
             << ", \"fastest\": " << number(*std::min_element(seconds.begin(), seconds.end()))
             << ", \"slowest\": " << number(*std::max_element(seconds.begin(), seconds.end()))
             << ", \"runs\": " << seconds.size();
        for (std::size_t i = 0; i < one.runs.front().more.size(); ++i) {
            std::vector<double> values;
            values.reserve(one.runs.size());
            for (const measurement& run : one.runs)
                values.push_back(run.more.at(i).second);
            file << ", " << quoted(one.runs.front().more[i].first) << ": " << number(median(values));
        }
        file << '}';
        separator = ",\n";
    }
    file << "\n]}\n";
    if (!file.flush())
        throw std::runtime_error(json_ + " cannot be written");
}

} // namespace bench
