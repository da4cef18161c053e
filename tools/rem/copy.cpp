#include "commands.hpp"
#include "report.hpp"
#include "text.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <span>
#include <unistd.h>

namespace remanence::tool {

namespace {

// Path of the unfinished file, which the signal handler removes; empty if there is none.
std::array<char, PATH_MAX> unfinished{};

extern "C" void remove_unfinished(int signal) {
    if (unfinished[0] != '\0')
        ::unlink(unfinished.data());
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void expect_signals(const std::string& building) {
    if (building.size() < unfinished.size())
        std::memcpy(unfinished.data(), building.c_str(), building.size() + 1);
}

void write_to_output(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            throw error(errc::io, fmt::format("cannot write to standard output: {}.", std::strerror(errno)), {}, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
}

} // namespace

int copy(const std::string& file, const std::string& to, bool force, bool with_history) {
    const bool to_output = to == "-";
    if (to_output && ::isatty(STDOUT_FILENO) == 1) {
        fmt::print(stderr, "rem copy: standard output is a terminal. Name a file, or send the copy into a pipe.\n");
        return exit_usage;
    }
    if (to_output && with_history) {
        fmt::print(stderr, "rem copy: a history is a file of its own. Name a file to copy it, too.\n");
        return exit_usage;
    }
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
        if (std::signal(signal, remove_unfinished) == SIG_IGN)
            std::signal(signal, SIG_IGN); // stays ignored, as under nohup
    }
    std::signal(SIGPIPE, SIG_IGN); // if the reader ends early, write() fails instead
    std::signal(SIGXFSZ, SIG_IGN); // if the file exceeds the process's limit, write() fails instead
    with_progress([&](const inspect::progress_callback& shown) {
        if (to_output)
            inspect::copy(file, write_to_output, shown);
        else
            inspect::copy(file, to, force ? inspect::existing::replaced : inspect::existing::refused, shown,
                          expect_signals,
                          with_history ? inspect::copied_history::taken : inspect::copied_history::left);
    });
    unfinished[0] = '\0';
    if (!with_history && inspect::look(file).recorded_history)
        fmt::print(stderr, "rem copy: the history of {} was not copied, kept versions among it; --history copies it.\n",
                   visible(file));
    return exit_ok;
}

} // namespace remanence::tool
