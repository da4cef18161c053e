#include "harness.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>

namespace bench {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void reject(const std::string& why) {
    std::cerr << why << "\n--help tells more\n";
    std::exit(2);
}

[[noreturn]] void help(std::string_view purpose) {
    std::cout << purpose << R"(
options
  --json FILE       write the medians there
  --runs N          runs of each measurement (5); their median counts
  --dir DIR         where files go: a directory on a real disk (TMPDIR unless that is in memory, else this program's)
  --only PART       only systems with PART in their names; may be given again
  --workload PART   the same for workloads
)";
    std::exit(0);
}

unsigned number(const std::string& text) {
    unsigned value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value == 0)
        reject("'" + text + "' is no number of runs");
    return value;
}

bool is_in_memory(const fs::path& directory) { return file_system_of(directory).starts_with("tmpfs"); }

fs::path default_directory() {
    const char* const named = std::getenv("TMPDIR");
    if (named != nullptr && fs::is_directory(named) && !is_in_memory(named))
        return named;
    return fs::read_symlink("/proc/self/exe").parent_path();
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

} // namespace

options parse_options(int count, char* words[], std::string_view purpose) {
    options chosen;
    for (int at = 1; at < count; ++at) {
        const std::string word = words[at];
        if (word == "--help" || word == "-h")
            help(purpose);
        if (word == "--child") {
            chosen.child.assign(words + at + 1, words + count);
            return chosen;
        }
        if (at + 1 == count)
            reject(word + " is unknown or lacks its value");
        const std::string value = words[++at];
        if (word == "--json")
            chosen.json = value;
        else if (word == "--runs")
            chosen.runs = number(value);
        else if (word == "--dir")
            chosen.dir = value;
        else if (word == "--only")
            chosen.only.push_back(value);
        else if (word == "--workload")
            chosen.workloads.push_back(value);
        else
            reject("unknown option " + word);
    }
    if (chosen.dir.empty())
        chosen.dir = default_directory();
    if (!fs::is_directory(chosen.dir))
        reject(chosen.dir.string() + " is no directory");
    chosen.dir = fs::absolute(chosen.dir);
    if (is_in_memory(chosen.dir))
        std::cerr << "warning: " << chosen.dir.string() << " is in memory, so commits cost nothing there\n";
#ifndef __OPTIMIZE__
    std::cerr << "warning: compiled without optimization\n";
#endif
    return chosen;
}

bool is_wanted(std::string_view name, const std::vector<std::string>& parts) {
    const auto matches = [&](const std::string& part) { return lower(name).find(lower(part)) != std::string::npos; };
    return parts.empty() || std::any_of(parts.begin(), parts.end(), matches);
}

double stopwatch::process_cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

work_done repeat_in_threads(unsigned threads, std::chrono::milliseconds time,
                            const std::function<std::function<void()>(unsigned thread)>& begin) {
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> times = 0;
    std::mutex guards_failure;
    std::exception_ptr failure;
    const auto work = [&](unsigned thread) {
        try {
            const std::function<void()> step = begin(thread);
            std::uint64_t done = 0;
            for (; !is_over; ++done)
                step();
            times += done;
        } catch (...) {
            const std::lock_guard guard(guards_failure);
            if (!failure)
                failure = std::current_exception();
        }
    };
    const stopwatch watch;
    std::vector<std::thread> workers;
    for (unsigned thread = 0; thread < threads; ++thread)
        workers.emplace_back(work, thread);
    std::this_thread::sleep_for(time);
    is_over = true;
    for (std::thread& worker : workers)
        worker.join();
    const work_done all{times, watch.seconds(), watch.cpu_seconds()};
    if (failure)
        std::rethrow_exception(failure);
    return all;
}

scratch_directory::scratch_directory(const fs::path& parent) {
    std::string name = (parent / "bench.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
}

scratch_directory::~scratch_directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

int run(int count, char* words[], std::string_view name, std::string_view purpose, void (*parent)(const options&),
        void (*child)(const std::vector<std::string>&)) {
    try {
        const options chosen = parse_options(count, words, purpose);
        if (chosen.child.empty()) {
            for (const auto& [what, fact] : machine_facts(chosen.dir))
                std::printf("%-10s%s\n", what.c_str(), fact.c_str());
            std::fflush(stdout);
            stop_when_asked();
            parent(chosen);
        } else {
            child(chosen.child);
        }
        return 0;
    } catch (const stopped&) {
        end_as_asked();
        return 1;
    } catch (const std::exception& reason) {
        note("");
        std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(name.size()), name.data(), reason.what());
        return 1;
    }
}

} // namespace bench
