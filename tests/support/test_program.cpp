// What each test program does when it starts. The linker takes this file into all of them (CMakeLists.txt).
//
// - fork() flushes the standard streams first. Otherwise a child that flushes its copy of their buffers repeats lines.
// - RapidCheck takes its seed from ours.
// - When a test fails, the program prints one line: the command that repeats it. It does so too when a fatal signal or a
//   sanitizer ends the program. It does not when SIGKILL does.
#include "support/test_program.hpp"

#include "support/seed.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

// Only in builds with a sanitizer.
extern "C" void __sanitizer_set_death_callback(void (*callback)())
    __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

namespace remanence::test {

namespace {

/// The parts of a line, made beforehand: a handler of a signal can only write them.
struct command_line {
    std::string environment; // that matters to tests, but for the seed
    std::string seed;
    std::string program;
    std::string test; // that runs, if any
    pid_t process = 0;
};

command_line& the_command() {
    static command_line& made = *new command_line; // for signals that come after the end of main(), too
    return made;
}

std::string in_quotes(std::string_view word) {
    constexpr std::string_view k_plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=+./:,@%";
    if (!word.empty() && word.find_first_not_of(k_plain) == std::string_view::npos)
        return std::string(word);
    std::string result = "'";
    for (const char each : word)
        each == '\'' ? result += "'\\''" : result += each;
    return result + '\'';
}

std::string environment_of_tests() {
    std::string result;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view entry = *each;
        const std::string_view name = entry.substr(0, entry.find('='));
        const bool matters = name.starts_with("REMANENCE_") || name == "RC_PARAMS" || name.ends_with("SAN_OPTIONS");
        if (matters && name != "REMANENCE_SEED")
            result += std::string(name) + '=' + in_quotes(entry.substr(std::min(name.size() + 1, entry.size()))) + ' ';
    }
    return result;
}

/// The program and its own arguments. Those of GoogleTest only say which tests are run, and how they are shown.
std::string program_and_arguments() {
    std::array<char, 4096> path{};
    const ssize_t bytes = ::readlink("/proc/self/exe", path.data(), path.size());
    std::string result = in_quotes({path.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))});
    std::ifstream all("/proc/self/cmdline");
    std::string word;
    std::getline(all, word, '\0');
    while (std::getline(all, word, '\0')) {
        if (!word.starts_with("--gtest_"))
            result += ' ' + in_quotes(word);
    }
    return result;
}

std::string seed_variable() {
    const char* const given = std::getenv("REMANENCE_SEED");
    return "REMANENCE_SEED=" + (given != nullptr ? given : std::to_string(random_seed())) + ' ';
}

/// All parts of the line for the test that runs, in order.
std::array<std::string_view, 7> parts() {
    const command_line& made = the_command();
    const bool has_seed = is_repeated_by_seed();
    return {"To repeat it: ",
            has_seed ? made.seed : std::string_view(),
            made.environment,
            made.program,
            " --gtest_filter='",
            made.test,
            "'\n"};
}

class repeat_printer : public testing::EmptyTestEventListener {
    void OnTestProgramStart(const testing::UnitTest& program) override;
    void OnTestIterationStart(const testing::UnitTest& /*program*/, int iteration) override {
        if (iteration > 0)
            draw_another_seed();
        the_command().seed = seed_variable();
    }
    void OnTestStart(const testing::TestInfo& test) override {
        begin_test_with_seeds();
        the_command().test = std::string(test.test_suite_name()) + '.' + test.name();
    }
    void OnTestEnd(const testing::TestInfo& test) override {
        if (test.result()->Failed()) {
            for (const std::string_view part : parts())
                std::cout << part;
            std::cout << std::flush;
        }
        the_command().test.clear();
    }
};

extern "C" void say_and_die(int signal) {
    say_how_to_repeat();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// Not earlier: a fuzzer is no test, and has handlers of its own.
void repeat_printer::OnTestProgramStart(const testing::UnitTest& /*program*/) {
    command_line& made = the_command();
    made.program = program_and_arguments();
    made.process = ::getpid();
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        struct sigaction now{};
        ::sigaction(signal, nullptr, &now);
        if ((now.sa_flags & SA_SIGINFO) == 0 &&
            now.sa_handler == SIG_DFL) // else a sanitizer, or the program, has its own
            std::signal(signal, say_and_die);
    }
    if (__sanitizer_set_death_callback != nullptr)
        __sanitizer_set_death_callback([] { say_how_to_repeat(); });
}

void flush_standard_streams() {
    std::fflush(stdout); // std::cout has no buffer of its own
    std::fflush(stderr);
}

/// RapidCheck reads RC_PARAMS at its first check.
void give_rapidcheck_a_seed() {
    const char* const given = std::getenv("RC_PARAMS");
    std::string parameters = given != nullptr ? given : "";
    if ((' ' + parameters).find(" seed=") == std::string::npos)
        ::setenv("RC_PARAMS", (parameters + " seed=" + std::to_string(random_seed())).c_str(), 1);
}

} // namespace

void say_how_to_repeat() noexcept {
    if (the_command().test.empty() || ::getpid() != the_command().process)
        return; // the children of tests die as the tests want it
    for (const std::string_view part : parts())
        (void)!::write(STDERR_FILENO, part.data(), part.size());
}

} // namespace remanence::test

extern "C" {
extern const bool remanence_is_a_test_program;
const bool remanence_is_a_test_program = [] {
    using namespace remanence::test;
    the_command().environment = environment_of_tests(); // before RC_PARAMS is set
    give_rapidcheck_a_seed();
    ::pthread_atfork(flush_standard_streams, nullptr, nullptr);
    testing::UnitTest::GetInstance()->listeners().Append(new repeat_printer);
    return true;
}();
}
