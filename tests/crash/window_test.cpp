// The redo log as a window under power loss, without an engine: checkpoints that are made while more is committed, and
// records that go on at the log's beginning.
#include "explorer.hpp"
#include "options.hpp"
#include "windowed_store.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace remanence::crash {
namespace {

using log::durability;

void many_laps(session& program) {
    program.open();
    if (!program.current().has_root()) {
        program.add_root();
        program.commit();
        program.add_block(90 * KiB);
        program.commit();
    }
    for (std::uint64_t i = 0; i < 50; ++i) {
        program.poke(i % 9 == 5 ? 12 * KiB : 300 + 20 * i); // the large ones do not fit before the window each time
        program.change_serial();
        program.commit(i % 3 == 0 ? durability::lazy : i % 5 == 0 ? durability::none : durability::durable);
    }
}

void and_close(session& program) {
    many_laps(program);
    program.checkpoint();
    program.poke(100);
    program.commit();
    program.close();
}

workload laps(windowed_mistakes mistakes = {}) {
    return {.name = "laps", .open = windowed(mistakes), .phases = {many_laps, and_close}};
}

TEST(log_window_after_power_loss, keeps_every_acknowledged_commit) {
    const auto report = explore(laps(), {.seed = options().seed, .states = options().states, .only = options().replay});
    std::cout << report.summary("laps") << "  seed " << options().seed << '\n';
    EXPECT_EQ(report.violation, "");
    EXPECT_GT(report.levels[0].of(outcome::acknowledged), 0U);
}

// Negative controls.
TEST(log_window_after_power_loss, notices_a_superblock_that_says_the_wrong_place) {
    EXPECT_NE(explore(laps({.names_logs_beginning = true}), {.levels = 1}).violation, "");
}
TEST(log_window_after_power_loss, notices_space_that_is_released_before_the_superblock_is_durable) {
    EXPECT_NE(explore(laps({.releases_at_mark = true}), {.levels = 1}).violation, "");
}

} // namespace
} // namespace remanence::crash
