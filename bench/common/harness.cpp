#include "harness.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <system_error>

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

fs::path own_program() { return fs::read_symlink("/proc/self/exe"); }

fs::path default_directory() {
    const char* const named = std::getenv("TMPDIR");
    if (named != nullptr && fs::is_directory(named) && !is_in_memory(named))
        return named;
    return own_program().parent_path();
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// Reads until the end, and closes.
std::string read_all(int descriptor) {
    std::string text;
    std::array<char, 4096> block;
    for (;;) {
        const ssize_t count = ::read(descriptor, block.data(), block.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        text.append(block.data(), static_cast<std::size_t>(count));
    }
    ::close(descriptor);
    return text;
}

/// seconds <tab> op {<tab> key <tab> value}, as hand_over() writes it
measurement parse_measurement(const std::string& line) {
    std::istringstream fields(line);
    measurement result{};
    std::string field;
    std::getline(fields, field, '\t');
    result.seconds = std::stod(field);
    std::getline(fields, result.op, '\t');
    for (std::string key; std::getline(fields, key, '\t') && std::getline(fields, field, '\t');)
        result.more.emplace_back(key, std::stod(field));
    return result;
}

/// The memory that the kernel hands out next. In a virtual machine it may be memory that the host has yet to find: its
/// first use then costs up to forty times as much, most of all in huge pages, and a system pays or not by chance.
void use_memory_once() {
    constexpr std::size_t k_bytes = std::size_t{512} << 20; // more than a measured process takes
    void* const memory = ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    ::madvise(memory, k_bytes, MADV_HUGEPAGE);
    std::memset(memory, 1, k_bytes);
    ::munmap(memory, k_bytes);
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

void hand_over(const measurement& result) {
    std::printf("%.9g\t%s", result.seconds, result.op.c_str());
    for (const auto& [key, value] : result.more)
        std::printf("\t%s\t%.9g", key.c_str(), value);
    std::printf("\n");
}

std::vector<measurement> run_child(const std::vector<std::string>& words, const std::vector<std::string>& by) {
    std::vector<std::string> line = by;
    line.insert(line.end(), {own_program().string(), "--child"});
    line.insert(line.end(), words.begin(), words.end());
    std::vector<char*> pointers;
    pointers.reserve(line.size() + 1);
    for (std::string& word : line)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    use_memory_once();

    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t child = -1;
    const int error = ::posix_spawnp(&child, line[0].c_str(), &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    const std::string output = read_all(ends[0]);
    if (error != 0)
        throw std::system_error(error, std::generic_category(), "starting " + line[0]);

    siginfo_t how{};
    while (::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED) != 0 && errno == EINTR) {
    }
    if (how.si_code != CLD_EXITED || how.si_status != 0) {
        std::string what = "a child process failed:";
        for (const std::string& word : words)
            what.append(" ").append(word);
        throw std::runtime_error(what);
    }
    std::vector<measurement> results;
    std::istringstream lines(output);
    for (std::string text; std::getline(lines, text);)
        results.push_back(parse_measurement(text));
    return results;
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

void note(const std::string& text) {
    if (::isatty(STDERR_FILENO) == 1)
        std::fprintf(stderr, "\r%s\033[K", text.c_str());
}

int run(int count, char* words[], std::string_view name, std::string_view purpose, void (*parent)(const options&),
        void (*child)(const std::vector<std::string>&)) {
    try {
        const options chosen = parse_options(count, words, purpose);
        if (chosen.child.empty()) {
            std::printf("%s", machine_facts(chosen.dir).c_str());
            std::fflush(stdout);
            parent(chosen);
        } else {
            child(chosen.child);
        }
        return 0;
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(name.size()), name.data(), reason.what());
        return 1;
    }
}

} // namespace bench
