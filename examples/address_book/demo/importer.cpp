#include "importer.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace {

// Not a standard stream, and any other number would do.
constexpr int k_report_descriptor = 3;

void check(int error, const char* what) {
    if (error != 0)
        throw std::system_error(error, std::generic_category(), what);
}

class spawn_actions {
public:
    spawn_actions() { check(::posix_spawn_file_actions_init(&actions_), "posix_spawn"); }
    spawn_actions(const spawn_actions&) = delete;
    spawn_actions& operator=(const spawn_actions&) = delete;
    ~spawn_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
    posix_spawn_file_actions_t* get() { return &actions_; }

private:
    posix_spawn_file_actions_t actions_;
};

import_event parse(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    import_event event{};
    std::int64_t nanoseconds = 0;
    words >> kind >> event.imported;
    event.opened = kind == "opened";
    if (event.opened)
        words >> event.found >> event.commits >> event.bytes >> nanoseconds;
    event.open_time = std::chrono::nanoseconds(nanoseconds);
    if (!words || (kind != "opened" && kind != "committed"))
        throw std::runtime_error("the importer reported '" + line + "', which means nothing");
    return event;
}

} // namespace

importer::importer(const std::filesystem::path& tool, const std::filesystem::path& book,
                   const std::vector<std::string>& options) {
    std::vector<std::string> words = {tool.string(), book.string(), "import", "--report-fd",
                                      std::to_string(k_report_descriptor)};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);

    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        check(errno, "pipe2");
    reports_ = ends[0];
    spawn_actions actions;
    // The write end may have the very number: duplicating it onto itself also lets it through the exec.
    check(::posix_spawn_file_actions_adddup2(actions.get(), ends[1], k_report_descriptor), "posix_spawn");
    check(::posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0), "posix_spawn");
    const int error = ::posix_spawn(&child_, words[0].c_str(), actions.get(), nullptr, pointers.data(), environ);
    ::close(ends[1]);
    if (error != 0) {
        ::close(reports_);
        child_ = -1;
        throw std::system_error(error, std::generic_category(), "starting " + words[0]);
    }
}

importer::~importer() {
    ::close(reports_);
    if (child_ <= 0)
        return;
    kill();
    ::waitid(P_PID, static_cast<id_t>(child_), nullptr, WEXITED);
}

std::optional<import_event> importer::next() {
    for (;;) {
        if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
            const std::string line = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return parse(line);
        }
        std::array<char, 4096> block;
        const ssize_t count = ::read(reports_, block.data(), block.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            check(errno, "reading the importer's reports");
        if (count == 0)
            return {};
        unread_.append(block.data(), static_cast<std::size_t>(count));
    }
}

void importer::kill() noexcept { ::kill(child_, SIGKILL); }

import_end importer::wait() {
    siginfo_t how{};
    while (::waitid(P_PID, static_cast<id_t>(child_), &how, WEXITED) != 0)
        if (errno != EINTR)
            check(errno, "waiting for the importer");
    child_ = -1;
    const bool exited = how.si_code == CLD_EXITED;
    return {.killed = !exited && how.si_status == SIGKILL, .exit_status = exited ? how.si_status : -1};
}
