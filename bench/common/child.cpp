// Child processes: started, listened to, told of on standard error, and stopped when the program is asked to stop.
#include "harness.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace bench {

namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t asked_by_signal = 0; // 0: not asked to stop
std::atomic<pid_t> running_child = 0;           // leads a process group; 0: none runs
std::string current_note;
const stopwatch since_start;

/// Kills the child, so that run_child() comes back.
void stop(int signal) {
    asked_by_signal = signal;
    if (const pid_t child = running_child; child > 0)
        ::kill(-child, SIGKILL);
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

/// Starts `line` in a process group of its own: what it starts itself (strace's tracee) is stopped with it, and an
/// interrupt from the terminal reaches the parent alone, which decides.
pid_t start(std::vector<std::string> line, int output) {
    std::vector<char*> pointers;
    pointers.reserve(line.size() + 1);
    for (std::string& word : line)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    pid_t child = -1;
    const int error = ::posix_spawnp(&child, line[0].c_str(), &actions, &attributes, pointers.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        throw std::system_error(error, std::generic_category(), "starting " + line[0]);
    return child;
}

/// Whether it ended by itself, with success.
bool wait_for(pid_t child) {
    const auto id = static_cast<id_t>(child);
    siginfo_t how{};
    while (::waitid(P_PID, id, &how, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    running_child = 0; // before its number can be another's
    while (::waitid(P_PID, id, &how, WEXITED) != 0 && errno == EINTR) {
    }
    return how.si_code == CLD_EXITED && how.si_status == 0;
}

/// A line on standard error for what a child has measured: the last note, each operation's time, and the time of the whole.
void say_finished(const std::vector<std::string>& words, const std::vector<measurement>& results, double seconds) {
    std::string line;
    for (const std::string& word : words)
        line.append(line.empty() ? "" : " ").append(word);
    if (!current_note.empty())
        line = current_note;
    const char* separator = ": ";
    for (const measurement& each : results) {
        line.append(separator).append(each.op).append(" ").append(duration_text(each.seconds));
        separator = ", ";
    }
    const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    std::fprintf(stderr, "%s[%5.0f s] %s (took %s)\n", is_terminal ? "\r\033[K" : "", since_start.seconds(),
                 line.c_str(), duration_text(seconds).c_str());
}

} // namespace

const char* stopped::what() const noexcept { return "stopped by a signal"; }

void stop_when_asked() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action{};
        ::sigaction(signal, nullptr, &action);
        if (action.sa_handler == SIG_IGN) // nohup
            continue;
        action.sa_handler = stop;
        action.sa_flags = static_cast<int>(SA_RESETHAND); // the second time it ends the program
        ::sigaction(signal, &action, nullptr);
    }
}

void throw_if_asked_to_stop() {
    if (asked_by_signal != 0)
        throw stopped();
}

void end_as_asked() {
    std::fflush(stdout);
    std::signal(asked_by_signal, SIG_DFL);
    std::raise(asked_by_signal); // so that a shell sees what it was
}

void hand_over(const measurement& result) {
    std::printf("%.9g\t%s", result.seconds, result.op.c_str());
    for (const auto& [key, value] : result.more)
        std::printf("\t%s\t%.9g", key.c_str(), value);
    std::printf("\n");
}

std::vector<measurement> run_child(const std::vector<std::string>& words, const std::vector<std::string>& by) {
    throw_if_asked_to_stop();
    std::vector<std::string> line = by;
    line.insert(line.end(), {fs::read_symlink("/proc/self/exe").string(), "--child"});
    line.insert(line.end(), words.begin(), words.end());
    use_memory_once();

    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    const stopwatch watch;
    const pid_t child = start(std::move(line), ends[1]);
    running_child = child;
    if (asked_by_signal != 0) // before the child was known
        ::kill(-child, SIGKILL);
    ::close(ends[1]);
    const std::string output = read_all(ends[0]);
    const bool has_succeeded = wait_for(child);
    throw_if_asked_to_stop();
    if (!has_succeeded) {
        std::string what = "a child process failed:";
        for (const std::string& word : words)
            what.append(" ").append(word);
        throw std::runtime_error(what);
    }
    std::vector<measurement> results;
    std::istringstream lines(output);
    for (std::string text; std::getline(lines, text);)
        results.push_back(parse_measurement(text));
    say_finished(words, results, watch.seconds());
    return results;
}

void note(const std::string& text) {
    current_note = text;
    if (::isatty(STDERR_FILENO) == 1)
        std::fprintf(stderr, "\r%s\033[K", text.c_str());
}

} // namespace bench
