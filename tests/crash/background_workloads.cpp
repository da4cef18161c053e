// Checkpoints beside commits; those of other workloads are in the files of these.
//
// Long runs: 53,508 states of 40 workloads, and 510,512 of 17 in five runs: no violation.
#include "workload_parts.hpp"

namespace remanence::crash {

namespace {

using log::durability;

/// Checkpoints go on beside commits of all kinds, of which one is longer than the log's limit, and some need another region.
void beside_checkpoints(session& program) {
    begin(program);
    program.add_block(100 * KiB);
    program.commit();
    for (std::uint64_t i = 0; i < 14; i++) {
        program.poke(largest(program), 5000 + 9000 * (i % 7), 700);
        program.poke(largest(program), 900 + 64 * i, 40); // of a page that each of them changes
        program.commit();
        program.add_block(300 + 4000 * (i % 3));
        program.poke(300);
        program.commit(i % 4 == 1 ? durability::lazy : i % 4 == 2 ? durability::none : durability::durable);
        if (i % 5 == 2) {
            program.poke(9000);
            program.add_block(70 * KiB);
            program.rollback();
        }
        if (i % 5 == 3) {
            program.remove_largest();
            program.add_block(90 * KiB);
            program.commit_async();
        }
        if (i == 6)
            program.add_sparse_block(5 * MiB, 900 * KiB, 3000);
        if (i == 9)
            program.poke(largest(program), 4096, 60 * KiB);
        if (i == 11)
            program.verify();
        program.change_serial();
        program.commit();
    }
    program.poke(200);
    program.checkpoint();
    program.poke(3000);
    program.commit();
    program.poke(3000);
    program.commit();
    program.die();
    program.open();
    for (std::uint64_t i = 0; i < 6; i++) {
        program.poke(2500);
        program.change_serial();
        program.commit();
    }
    program.close();
    program.open();
    program.poke(9);
    program.commit();
}

/// Commits, asynchronous ones, checkpoints and closes are cut short at each operation, those of checkpoints beside them
/// among them.
void beside_checkpoints_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(50 * KiB);
    program.commit();
    const auto commit_some = [&] { // more than the log's limit
        for (std::uint64_t i = 0; i < 4; i++) {
            program.poke(largest(program), 4096 + 9000 * i, 900);
            program.change_serial();
            program.commit(i == 1 ? durability::lazy : durability::durable);
        }
    };
    for (std::uint64_t n = 0; n < 40; n++) {
        commit_some();
        program.poke(largest(program), 4096, 5000);
        program.add_block(20 * KiB);
        if (!program.try_commit(n % 20, how, n < 20 ? durability::durable : durability::lazy))
            program.open();
    }
    for (std::uint64_t n = 0; n < 20; n++) {
        commit_some();
        program.add_block(70 * KiB);
        if (!program.try_commit_async(n, how))
            program.open();
    }
    cut_at_each_operation(program, [&](std::uint64_t n) {
        commit_some();
        return program.try_checkpoint(n, how);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        commit_some();
        return program.try_close(n, how);
    });
    program.open();
    program.change_anything();
    program.commit();
}

} // namespace

std::vector<workload> background_workloads() {
    return {
        {.name = "background", .open = background_engine(k_tight), .phases = {beside_checkpoints}},
        {.name = "background_declared",
         .open = background_engine(k_tight, sections::declared),
         .phases = {beside_checkpoints}},
        {.name = "background_without_durable_writes",
         .open = background_engine(k_tight),
         .phases = {beside_checkpoints},
         .durable_writes = false},
        killed("background_killed", background_engine(4 * KiB), beside_checkpoints_cut_short),
        failing("background_failing_ext4", background_engine(4 * KiB), beside_checkpoints_cut_short,
                simulation::failed_sync::ext4),
        failing("background_failing_xfs", background_engine(4 * KiB), beside_checkpoints_cut_short,
                simulation::failed_sync::xfs),
        failing("background_failing_btrfs", background_engine(4 * KiB), beside_checkpoints_cut_short,
                simulation::failed_sync::btrfs),
    };
}

} // namespace remanence::crash
