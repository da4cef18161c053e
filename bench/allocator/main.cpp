// Runs the workloads with each malloc that is there, in turns, and compares time and peak of memory.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr const char* k_usage =
    R"(usage: allocator [--rounds N] [--threads N] [--only WORKLOAD] [--malloc NAME]... [--library NAME=FILE]...
Each workload runs in a process of its own, with each malloc in turn, N times (5). Shown are the medians of wall time,
of the processor's time and of the peak of resident memory, and the geometric means of each, relative to the best of each workload.
--malloc: these only. --library: one more, which FILE preloads.
)";

struct allocator {
    std::string name;
    std::string library; // empty: the C library's
};

struct figures {
    double seconds;
    double processor_seconds; // on a busy machine it tells what waiting adds to the other
    double mebibytes;
};

std::vector<allocator> installed() {
    std::vector<allocator> found{{"glibc", ""}};
    const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path debian = "/usr/lib/x86_64-linux-gnu";
    for (const auto& [name, path] : std::initializer_list<std::pair<const char*, fs::path>>{
             {"remanence", bin.parent_path() / "bin" / "libremanence-malloc.so"},
             {"jemalloc", debian / "libjemalloc.so.2"},
             {"mimalloc", debian / "libmimalloc.so.2.0"},
             {"tcmalloc", debian / "libtcmalloc_minimal.so.4"},
             {"snmalloc", debian / "libsnmallocshim.so"}}) {
        if (fs::exists(path))
            found.push_back({name, path.string()});
        else
            std::fprintf(stderr, "without %s: there is no %s\n", name, path.c_str());
    }
    return found;
}

figures run(const std::string& workload, const std::string& threads, const allocator& with) {
    const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "allocator_workload";
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
        if (!with.library.empty())
            ::setenv("LD_PRELOAD", with.library.c_str(), 1);
        ::execl(program.c_str(), program.c_str(), workload.c_str(), threads.c_str(), nullptr);
        ::_exit(127);
    }
    int status = -1;
    rusage used{};
    ::wait4(child, &status, 0, &used);
    if (status != 0) {
        std::fprintf(stderr, "%s fails with %s: status %d\n", workload.c_str(), with.name.c_str(), status);
        std::exit(1);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const auto seconds_of = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return {took.count(), seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
            static_cast<double>(used.ru_maxrss) / 1024};
}

std::vector<std::string> all_workloads() {
    const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "allocator_workload";
    std::vector<std::string> names;
    std::FILE* const list = ::popen((program + " list").c_str(), "r");
    char line[100];
    while (list != nullptr && std::fgets(line, sizeof line, list) != nullptr)
        names.emplace_back(line, std::strcspn(line, "\n"));
    if (list != nullptr)
        ::pclose(list);
    return names;
}

double median(std::vector<double> of) {
    std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
    return of[of.size() / 2];
}

/// One table: rows are workloads, columns mallocs; the last row has the geometric means relative to the best.
void print(const char* title, const std::vector<std::string>& workloads, const std::vector<allocator>& mallocs,
           const std::map<std::pair<std::string, std::string>, double>& values) {
    std::printf("\n%-14s", title);
    for (const allocator& each : mallocs)
        std::printf(" %11s", each.name.c_str());
    std::printf("\n");
    std::map<std::string, double> logarithms;
    for (const std::string& workload : workloads) {
        double best = values.at({workload, mallocs.front().name});
        for (const allocator& each : mallocs)
            best = std::min(best, values.at({workload, each.name}));
        std::printf("%-14s", workload.c_str());
        for (const allocator& each : mallocs) {
            const double value = values.at({workload, each.name});
            std::printf(" %11.3f", value);
            logarithms[each.name] += std::log(value / best);
        }
        std::printf("\n");
    }
    std::printf("%-14s", "relative");
    for (const allocator& each : mallocs)
        std::printf(" %11.3f", std::exp(logarithms[each.name] / static_cast<double>(workloads.size())));
    std::printf("\n");
}

} // namespace

int main(int argc, char** argv) {
    int rounds = 5;
    std::string threads = "2";
    std::vector<std::string> workloads;
    std::vector<std::string> only;
    std::vector<allocator> more;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (i + 1 == argc || (option != "--rounds" && option != "--threads" && option != "--only" &&
                              option != "--malloc" && option != "--library")) {
            std::fputs(k_usage, option == "--help" ? stdout : stderr);
            return option == "--help" ? 0 : 2;
        }
        const char* const value = argv[++i];
        if (option == "--rounds")
            rounds = std::max(std::atoi(value), 1);
        else if (option == "--threads")
            threads = value;
        else if (const char* const file = std::strchr(value, '='); option == "--library" && file != nullptr)
            more.push_back({std::string(value, file), file + 1});
        else
            (option == "--only" ? workloads : only).emplace_back(value);
    }
    if (workloads.empty())
        workloads = all_workloads();
    std::vector<allocator> mallocs = installed();
    mallocs.insert(mallocs.end(), more.begin(), more.end());
    if (!only.empty())
        std::erase_if(mallocs, [&](const allocator& each) { return std::ranges::find(only, each.name) == only.end(); });

    std::map<std::pair<std::string, std::string>, double> seconds;
    std::map<std::pair<std::string, std::string>, double> processor;
    std::map<std::pair<std::string, std::string>, double> mebibytes;
    for (const std::string& workload : workloads) {
        std::map<std::string, std::vector<double>> times;
        std::map<std::string, std::vector<double>> processor_times;
        std::map<std::string, std::vector<double>> peaks;
        for (int round = 0; round != rounds; ++round) {
            for (const allocator& each : mallocs) {
                const figures got = run(workload, threads, each);
                times[each.name].push_back(got.seconds);
                processor_times[each.name].push_back(got.processor_seconds);
                peaks[each.name].push_back(got.mebibytes);
            }
        }
        for (const allocator& each : mallocs) {
            seconds[{workload, each.name}] = median(times[each.name]);
            processor[{workload, each.name}] = median(processor_times[each.name]);
            mebibytes[{workload, each.name}] = median(peaks[each.name]);
        }
        std::fprintf(stderr, "%s done\n", workload.c_str());
    }
    print("seconds", workloads, mallocs, seconds);
    print("CPU seconds", workloads, mallocs, processor);
    print("peak MiB", workloads, mallocs, mebibytes);
}
