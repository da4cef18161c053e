// Runs the workloads with each malloc that is there, in turns, and compares time and peak of memory.
#include <harness.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_purpose =
    R"(Measures the usual workloads for allocators, with 2 threads where they have threads, in a program with each malloc
preloaded in turn: the wall's time, the processor's, and the peak of resident memory. The last rows below the tables have
the geometric means, relative to the best of each workload. A malloc that is not installed is left out.
)";

constexpr const char* k_threads = "2";
constexpr const char* k_ours = "remanence";
constexpr double k_mib = 1 << 20;

struct allocator {
    std::string name;
    std::string library; // empty: the C library's
};

fs::path folder_of_programs() { return fs::read_symlink("/proc/self/exe").parent_path(); }
std::string workload_program() { return folder_of_programs() / "allocator_workload"; }

std::vector<allocator> all_allocators() {
    const fs::path debian = "/usr/lib/x86_64-linux-gnu";
    const fs::path built = BENCH_MALLOC_PEERS; // from cargo's registry
    return {{"glibc", ""},
            {k_ours, folder_of_programs().parent_path() / "bin" / "libremanence-malloc.so"},
            {"jemalloc", debian / "libjemalloc.so.2"},
            {"mimalloc 2", debian / "libmimalloc.so.2.0"},
            {"mimalloc 3", built / "libmimalloc3.so"},
            {"tcmalloc", debian / "libtcmalloc_minimal.so.4"},
            {"snmalloc", built / "libsnmallocshim.so"}};
}

std::vector<allocator> installed(const std::vector<std::string>& only) {
    std::vector<allocator> found;
    for (const allocator& each : all_allocators()) {
        if (!bench::is_wanted(each.name, only))
            continue;
        if (each.library.empty() || fs::exists(each.library))
            found.push_back(each);
        else
            std::fprintf(stderr, "%s is not installed: there is no %s\n", each.name.c_str(), each.library.c_str());
    }
    return found;
}

std::vector<std::string> all_workloads() {
    std::vector<std::string> names;
    std::FILE* const list = ::popen((workload_program() + " list").c_str(), "r");
    char line[100];
    while (list != nullptr && std::fgets(line, sizeof line, list) != nullptr)
        names.emplace_back(line, std::strcspn(line, "\n"));
    if (list == nullptr || ::pclose(list) != 0)
        throw std::runtime_error(workload_program() + " does not list its workloads");
    return names;
}

/// In a child of the harness: runs the workload in one more process, which alone has the malloc. Words are the workload
/// and the library.
void run_child(const std::vector<std::string>& words) {
    const std::string program = workload_program();
    const bench::stopwatch watch;
    const pid_t child = ::fork();
    if (child == 0) {
        if (!words.at(1).empty())
            ::setenv("LD_PRELOAD", words[1].c_str(), 1);
        ::execl(program.c_str(), program.c_str(), words.at(0).c_str(), k_threads, nullptr);
        ::_exit(127);
    }
    int status = -1;
    rusage used{};
    ::wait4(child, &status, 0, &used);
    const double wall = watch.seconds();
    if (status != 0)
        throw std::runtime_error(words.at(0) + " fails with " + words.at(1) + ": status " + std::to_string(status));
    const auto seconds_of = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    bench::hand_over({"wall", wall});
    bench::hand_over({"CPU",
                      seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
                      {{"resident_bytes", static_cast<double>(used.ru_maxrss) * 1024}}});
}

/// A table whose rows are workloads, and whose columns are mallocs.
class table {
public:
    table(std::string title, std::vector<std::string> workloads, std::vector<allocator> mallocs)
        : title_(std::move(title)),
          mallocs_(std::move(mallocs)),
          workloads_(std::move(workloads)),
          values_(workloads_.size() * mallocs_.size()) {}

    void add(std::size_t workload, std::size_t malloc, double value) {
        values_[workload * mallocs_.size() + malloc].push_back(value);
    }
    [[nodiscard]] double value(std::size_t workload, std::size_t malloc) const {
        return bench::median(values_[workload * mallocs_.size() + malloc]);
    }
    /// The malloc with the least.
    [[nodiscard]] std::size_t best(std::size_t workload) const {
        std::size_t found = 0;
        for (std::size_t i = 1; i != mallocs_.size(); ++i)
            found = value(workload, i) < value(workload, found) ? i : found;
        return found;
    }
    void print(bench::report& to) const {
        std::string heads = head(title_);
        for (const allocator& each : mallocs_)
            heads += column(each.name);
        to.remark(heads);
        std::vector<double> logarithms(mallocs_.size());
        for (std::size_t row = 0; row != workloads_.size(); ++row) {
            std::string line = head(workloads_[row]);
            for (std::size_t i = 0; i != mallocs_.size(); ++i) {
                line += column(value(row, i));
                logarithms[i] += std::log(value(row, i) / value(row, best(row)));
            }
            to.remark(line);
        }
        std::string means = head("relative");
        for (const double each : logarithms)
            means += column(std::exp(each / static_cast<double>(workloads_.size())));
        to.remark(means + '\n');
    }
    /// A line for our figure of one workload beside the best.
    void compare(bench::report& to, const std::string& workload, const std::string& unit, double aim) const {
        const auto row = std::ranges::find(workloads_, workload) - workloads_.begin();
        const auto ours = std::ranges::find(mallocs_, k_ours, &allocator::name) - mallocs_.begin();
        const auto at = static_cast<std::size_t>(row);
        const auto mine = static_cast<std::size_t>(ours);
        if (at == workloads_.size() || mine == mallocs_.size() || mallocs_.size() == 1)
            return;
        const std::size_t least = best(at);
        const std::string figures = "ours " + bench::figure_text(value(at, mine), unit) + ", best (" +
                                    mallocs_[least].name + ") " + bench::figure_text(value(at, least), unit);
        to.compare({"malloc, " + workload + ", " + title_ + ": ours / best", value(at, mine) / value(at, least),
                    bench::bound::at_most, aim, "", figures});
    }

private:
    static std::string head(const std::string& name) {
        return name + std::string(14 - std::min<std::size_t>(name.size(), 14), ' ');
    }
    static std::string column(const std::string& text) {
        return std::string(12 - std::min<std::size_t>(text.size(), 11), ' ') + text;
    }
    static std::string column(double value) {
        char text[64];
        std::snprintf(text, sizeof text, "%.3f", value);
        return column(std::string(text));
    }

    std::string title_;
    std::vector<allocator> mallocs_;
    std::vector<std::string> workloads_;
    std::vector<std::vector<double>> values_;
};

void run_parent(const bench::options& chosen) {
    bench::report report("allocator", chosen, "glibc");
    const std::vector<allocator> mallocs = installed(chosen.only);
    std::vector<std::string> workloads = all_workloads();
    std::erase_if(workloads, [&](const std::string& each) { return !bench::is_wanted(each, chosen.workloads); });
    table processor("CPU seconds", workloads, mallocs);
    table memory("peak MiB", workloads, mallocs);
    for (std::size_t workload = 0; workload != workloads.size(); ++workload) {
        for (unsigned run = 0; run < chosen.runs; ++run) {
            for (std::size_t i = 0; i != mallocs.size(); ++i) {
                const std::size_t at = (i + run) % mallocs.size();
                bench::note(workloads[workload] + ", " + mallocs[at].name);
                for (const bench::measurement& result : bench::run_child({workloads[workload], mallocs[at].library})) {
                    report.add(mallocs[at].name, workloads[workload], 1, result);
                    if (result.more.empty())
                        continue;
                    processor.add(workload, at, result.seconds);
                    memory.add(workload, at, result.more.front().second / k_mib);
                }
            }
        }
    }
    processor.print(report);
    memory.print(report);
    processor.compare(report, "larson", "s", 1.2);
    processor.compare(report, "sh8", "s", 1.2);
    memory.compare(report, "mstress", "MiB", 1.2);
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "allocator", k_purpose, run_parent, run_child); }
