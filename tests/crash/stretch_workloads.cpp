// Heaps of which only stretches were ever written, opened so that the gaps between them are mapped from holes of the file.

#include "workload_parts.hpp"

namespace remanence::crash {

namespace {

txn::engine_options leaving_gaps(std::uint64_t log_limit_bytes, std::uint64_t dirty_limit_bytes = 0) {
    auto options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    options.dirty_limit_bytes = dirty_limit_bytes;
    options.stretches_max = 1;
    return options;
}

void begin_with_stretches(session& program) {
    begin(program);
    program.add_sparse_block(900 * KiB, 200 * KiB, 3000);
    program.add_sparse_block(700 * KiB, 140 * KiB, 100);
    program.commit();
    program.close();
    program.open();
}

// Written, rolled back, committed, freed and given back, and written again by the next session.
void gaps_in_use(session& program) {
    begin_with_stretches(program);
    program.poke(0, 100 * KiB, 3000);
    program.rollback();
    program.poke(0, 100 * KiB, 100);
    program.poke(0, 290 * KiB, 70 * KiB);
    program.commit();
    program.poke(0, 300 * KiB, 300);
    program.poke(1, 220 * KiB, 300);
    program.commit();
    program.verify();
    program.checkpoint();
    program.poke(0, 300 * KiB, 5000);
    program.commit();
    program.die();
    program.open();
    program.poke(1, 80 * KiB, 2000);
    program.commit();
    program.remove_largest();
    program.commit();
    program.checkpoint(); // holes behind the end of the file
    program.add_zero_block(500 * KiB);
    program.commit();
    program.close();
    program.open();
    program.remove_block(1);
    program.commit();
    program.checkpoint();
    program.add_sparse_block(600 * KiB, 130 * KiB, 300);
    program.commit();
    program.close();
    program.open();
    program.poke(0, 70 * KiB, 300);
    program.commit();
}

// More is written there than the budget allows.
void gaps_spilled(session& program) {
    begin_with_stretches(program);
    const auto write = [&] {
        for (std::uint64_t at = 10 * KiB; at < 800 * KiB; at += 40 * KiB) {
            program.poke(largest(program), at, 30 * KiB);
            program.add_block(40 * KiB);
        }
    };
    write();
    program.rollback();
    program.poke(largest(program), 100 * KiB, 300);
    program.commit();
    write();
    program.commit();
    program.close();
    program.open();
    program.poke(largest(program), 130 * KiB, 300);
    program.commit();
}

void gaps_cut_short(session& program, session::cut how) {
    begin_with_stretches(program);
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.poke(0, 100 * KiB, 3000);
        program.poke(1, 200 * KiB, 3000);
        return program.try_commit(n, how);
    });
    program.close();
    program.open();
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.add_sparse_block(500 * KiB, 140 * KiB, 300);
        program.commit();
        program.poke(0, 70 * KiB, 300);
        program.commit();
        program.remove_largest();
        program.commit();
        return program.try_close(n, how);
    });
}

} // namespace

std::vector<workload> stretch_workloads() {
    return {
        {.name = "gaps_in_use", .open = engine(leaving_gaps(k_roomy)), .phases = {gaps_in_use}},
        {.name = "declared_gaps_in_use",
         .open = engine(leaving_gaps(k_tight), sections::declared),
         .phases = {gaps_in_use}},
        {.name = "background_gaps_in_use",
         .open = engine(leaving_gaps(k_tight), sections::ordinary, checkpointing::in_background),
         .phases = {gaps_in_use}},
        {.name = "gaps_spilled",
         .open = engine(leaving_gaps(k_roomy, 512 * KiB), sections::declaring),
         .phases = {gaps_spilled}},
        killed("killed_in_gaps", engine(leaving_gaps(k_roomy)), gaps_cut_short),
        failing("failing_in_gaps_ext4", engine(leaving_gaps(k_roomy)), gaps_cut_short, simulation::failed_sync::ext4),
    };
}

} // namespace remanence::crash
