// The engine under power loss: whatever the moment, no acknowledged commit is lost, none is there in part, and the heap
// works on. The states tried and how they ended are printed.
#include "options.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
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

exploration_report explore_without(const std::string& site, const workload& tested) {
    return explore(tested, {.states = 20'000, .levels = 1, .dropped_site = site});
}

// A negative control: an engine that leaves a sync out loses data in some state, and the suite says so.
TEST(crash_suite, notices_every_sync_that_the_engine_leaves_out) {
    std::map<std::string, std::string> noticed; // site → the violation
    for (const char* name : {"create", "checkpoints", "free_and_reuse", "killed", "failing_device_xfs"}) {
        const workload tested = named(name);
        const auto complete = explore_without("", tested);
        ASSERT_EQ(complete.violation, "");
        for (const auto& [site, what] : complete.sites) {
            std::string& violation = noticed[what + ' ' + site];
            if (violation.empty())
                violation = explore_without(site, tested).violation;
        }
    }
    for (const auto& [site, violation] : noticed) {
        std::cout << "without \"" << site
                  << "\": " << (violation.empty() ? "no violation" : violation.substr(0, violation.find('\n'))) << '\n';
    }
}

} // namespace
} // namespace remanence::crash
