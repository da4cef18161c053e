// The harness itself: on a toy it accepts what is right, and notices each of the known mistakes.
#include "explorer.hpp"
#include "toy_store.hpp"

#include <gtest/gtest.h>

namespace remanence::crash {
namespace {

void first_phase(session& program) {
    program.open();
    program.add_root();
    program.commit();
    for (int i = 0; i < 4; i++) {
        program.add_block(100 + 700 * static_cast<std::uint64_t>(i));
        program.change_serial();
        program.commit();
        program.add_block(50);
        program.rollback();
        program.poke(8);
        program.commit();
    }
    program.close();
    program.open();
    program.poke(300);
    program.commit();
}

void second_phase(session& program) {
    program.open();
    program.change_anything();
    program.commit();
    program.die();
    program.open();
    program.change_anything();
    program.commit();
}

workload toy_workload(toy_mistakes mistakes = {}) {
    return {.name = "toy", .open = toy(mistakes), .phases = {first_phase, second_phase}, .restarts = 2};
}

std::string violation_of(toy_mistakes mistakes, const exploration& how = {}) {
    return explore(toy_workload(mistakes), how).violation;
}

TEST(explorer, accepts_a_store_that_is_right) {
    const auto report = explore(toy_workload(), {.states = 4000});
    EXPECT_EQ(report.violation, "");
    EXPECT_EQ(report.levels[0].states(), report.levels[0].possible);
    EXPECT_GT(report.levels[1].states(), 500U);
    EXPECT_GT(report.levels[2].states(), 250U);
    EXPECT_GT(report.levels[3].states(), 100U);
    for (const auto& level : {report.levels[0], report.levels[1]})
        for (std::size_t i = 0; i < k_outcomes; i++)
            EXPECT_GT(level.of(static_cast<outcome>(i)), 0U) << i;
}

TEST(explorer, is_deterministic) {
    const exploration how{.states = 300};
    EXPECT_EQ(explore(toy_workload(), how).summary("toy"), explore(toy_workload(), how).summary("toy"));
}

TEST(explorer, notices_every_sync_that_is_dropped) {
    for (const char* call_site : {toy_sites::k_new_file, toy_sites::k_directory, toy_sites::k_record})
        EXPECT_NE(violation_of({}, {.dropped_site = call_site}), "") << call_site;
}

TEST(explorer, notices_known_mistakes) {
    EXPECT_NE(violation_of({.no_checksum = true}), "");
    EXPECT_NE(violation_of({.acknowledges_early = true}), "");
    EXPECT_NE(violation_of({.forgets_rollback = true}), "");
}

void opens_once(session& program) {
    program.open();
    program.change_anything();
    program.commit();
}

TEST(explorer, tries_an_equal_disk_again_when_something_else_was_promised) {
    const workload tested{.name = "toy", .open = toy(), .phases = {opens_once}};
    const auto without_records = [](trace operations) {
        std::erase_if(operations, [](const auto& each) { return each.where.name() == toy_sites::k_record; });
        return operations;
    };
    const auto report = explore(tested, {.levels = 1, .performed = without_records});
    EXPECT_NE(report.violation.find("acknowledged commit lost"), std::string::npos) << report.violation;
}

TEST(explorer, tells_how_many_states_were_different) {
    const auto report = explore(toy_workload(), {.states = 4000});
    for (const level_counts& level : report.levels) {
        EXPECT_GT(level.different, 10U);
        EXPECT_LT(level.different, level.states());
    }
}

TEST(explorer, notices_a_recovery_that_must_not_be_cut_short_only_at_the_second_level) {
    const workload tested{.name = "toy", .open = toy({.rewrites_to_recover = true}), .phases = {opens_once}};
    EXPECT_EQ(explore(tested, {.levels = 1}).violation, "");
    EXPECT_NE(explore(tested, {}).violation, "");
}

TEST(explorer, a_violation_can_be_tried_alone) {
    const toy_mistakes mistakes{.rewrites_to_recover = true};
    const std::string found = violation_of(mistakes);
    const std::string only = current_state();
    EXPECT_NE(found.find("--replay='" + only + "'"), std::string::npos) << found;
    const auto again = explore(toy_workload(mistakes), {.only = only});
    EXPECT_EQ(again.violation, found);
    EXPECT_LE(again.levels[0].states() + again.levels[1].states() + again.levels[2].states(), 3U);
}

} // namespace
} // namespace remanence::crash
