// The engine under power loss: whatever the moment, no acknowledged commit is lost, none is there in part, and the heap
// works on. The states tried and how they ended are printed.
#include "options.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace remanence::crash {
namespace {

class engine_after_power_loss : public testing::TestWithParam<workload> {};

TEST_P(engine_after_power_loss, keeps_every_acknowledged_commit_and_works_on) {
    const workload& tested = GetParam();
    const std::string& replay = options().replay;
    if (!replay.empty() && !replay.starts_with(tested.name + '#'))
        GTEST_SKIP() << "not the workload to be replayed";
    const std::clock_t started = std::clock();
    const auto report =
        explore(tested, {.seed = options().seed, .states = options().states / tested.cost, .only = replay});
    const double took = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    std::cout << report.summary(tested.name) << "  seed " << options().seed << ", " << took << " s of the processor\n";
    if (!report.violation.empty())
        FAIL() << report.violation;
    if (replay.empty()) {
        EXPECT_GT(report.levels[0].of(outcome::acknowledged), 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(workloads, engine_after_power_loss, testing::ValuesIn(engine_workloads()),
                         [](const auto& instance) { return instance.param.name; });

workload named(const std::string& name) {
    auto all = engine_workloads();
    return *std::find_if(all.begin(), all.end(), [&](const workload& each) { return each.name == name; });
}

/// The names of call sites in the sources of store, log and txn: the first argument of everything that changes a file.
std::set<std::string> sites_in_sources() {
    const std::regex call(
        R"re((?:write|write_direct|sync|resize|reserve|punch|rename_to_new|rename_over|remove|sync_directory)\(\s*"([^"]+)")re");
    std::set<std::string> found;
    for (const char* layer : {"store", "log", "txn"}) {
        for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(SOURCE_DIR) / layer)) {
            std::ifstream stream(file.path());
            const std::string text(std::istreambuf_iterator<char>(stream), {});
            for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at)
                found.insert((*at)[1]);
        }
    }
    return found;
}

/// Steps that are left out without a violation, and why.
const std::map<std::string, std::string> k_not_noticed = {
    {"store: reserve superblocks", "room on a disk that may get full; tests/process/errors_on_full_disk_test.cpp"},
    {"store: reserve chunk map", "likewise"},
    {"store: reserve pages", "likewise"},
    {"store: reserve checksums", "likewise"},
    {"log: reserve first segment", "likewise; the zeros written behind it make the file as long"},
    {"log: reserve segments", "likewise"},
    {"log: prepare segment", "zeros that later commits find; they change no metadata then"},
    {"log: create", "an old log in the way: its records are of earlier epochs (R2), and zeros are written over them"},
    {"log: remove", "a log beside a clean heap is removed by the next open (docs/format.md, recovery, step 5)"},
};

// A negative control: when the disk leaves out what is done at one call site, data get lost in some state, and the suite
// says so. The sites are those that the workloads come by.
// no_sanitizer: tens of thousands of states of engines that go wrong; the optimized build is there for that.
TEST(crash_suite_no_sanitizer, notices_every_step_that_is_left_out) {
    if (!options().replay.empty())
        GTEST_SKIP() << "a state is to be replayed";
    std::map<std::string, std::string> noticed; // site → the violation
    std::map<std::string, std::string> steps;   // site → what is done there
    std::vector<workload> workloads;
    for (const char* name :
         {"create", "checkpoints", "bulk_commits", "free_and_reuse", "log_growth", "many_skipped_chunks",
          "free_what_was_changed", "killed", "debris", "copied", "failing_device_xfs"})
        workloads.push_back(named(name));
    for (const std::uint64_t states : {500U, 6'000U}) { // most are noticed soon, by one workload or another
        for (const workload& tested : workloads) {
            const auto complete = explore(tested, {.states = 100, .levels = 1});
            ASSERT_EQ(complete.violation, "");
            for (const auto& [site, what] : complete.sites) {
                steps[site] = what;
                std::string& violation = noticed[site];
                if (violation.empty() && !k_not_noticed.contains(site))
                    violation = explore(tested, {.states = states, .levels = 2, .dropped_site = site}).violation;
            }
        }
    }
    for (const auto& [site, violation] : noticed) {
        const bool excused = k_not_noticed.contains(site);
        std::cout << "without " << steps[site] << " \"" << site << "\": "
                  << (excused             ? "not tried: " + k_not_noticed.at(site)
                      : violation.empty() ? "no violation"
                                          : violation.substr(0, violation.find('\n')))
                  << '\n';
        EXPECT_TRUE(excused || !violation.empty()) << "nobody notices when \"" << site << "\" is left out";
    }
    // No call site of the sources is missing here.
    for (const std::string& site : sites_in_sources())
        EXPECT_TRUE(noticed.contains(site) || k_not_noticed.contains(site)) << "no workload comes by \"" << site << '"';
}

} // namespace
} // namespace remanence::crash
