// crash [--replay=<state>] [--seed=<n>] and GoogleTest's options. REMANENCE_CRASH_STATES: how many states to try for
// each workload. Without --seed, the seed is 1, or made of REMANENCE_SEED. A fatal signal, or a state that takes too long,
// names the state before the program ends.
#include "engine_store.hpp"
#include "explorer.hpp"
#include "options.hpp"
#include "support/huge_pages.hpp"
#include "support/seed.hpp"
#include "support/test_program.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

namespace remanence::crash {

test_options& options() {
    static test_options parsed;
    return parsed;
}

namespace {

#if defined(NDEBUG)
constexpr std::uint64_t k_states_default = 2'000; // of each workload; dearer ones less
#else
constexpr std::uint64_t k_states_default = 200; // sanitizers and debug builds are slow
#endif

void say(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

extern "C" void name_the_state(int signal) {
    say(signal == SIGALRM ? "\nno end of the state --replay='" : "\nfatal signal in the state --replay='");
    say(current_state());
    say("'\n");
    test::say_how_to_repeat();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void parse(int argc, char** argv) {
    options().states = k_states_default;
    schedule_seed() = options().seed = test::seed_or(1);
    if (const char* states = std::getenv("REMANENCE_CRASH_STATES"))
        options().states = std::strtoull(states, nullptr, 10);
    for (int i = 1; i < argc; i++) {
        const std::string_view argument = argv[i];
        if (argument.starts_with("--replay="))
            options().replay = argument.substr(9);
        else if (argument.starts_with("--seed="))
            schedule_seed() = options().seed = std::strtoull(argv[i] + 7, nullptr, 10);
        else {
            std::cerr << "unknown argument " << argument << '\n';
            std::exit(2);
        }
    }
}

} // namespace
} // namespace remanence::crash

int main(int argc, char** argv) {
    // Each state opens heaps anew, whose large blocks would otherwise be mapped and zeroed each time.
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
    remanence::test::refuse_huge_pages();
    testing::InitGoogleTest(&argc, argv);
    remanence::crash::parse(argc, argv);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM})
        std::signal(signal, remanence::crash::name_the_state);
    return RUN_ALL_TESTS();
}
