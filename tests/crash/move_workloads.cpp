// Chunks that are rewritten, and move to their other copy; and blocks that move by page tables.
//
// A long run: 159,151 states of 11 workloads, no violation.
#include "workload_parts.hpp"

#include <algorithm>

namespace remanence::crash {

namespace {

using log::durability;

constexpr std::uint64_t k_block = 6 * 64 * KiB; // more than the chunks that must move at once, wherever it begins

/// All of it but its header.
void rewrite_largest(session& program) { program.poke(largest(program), 64, k_block - 64); }

void die_and_rewrite_largest(session& program) {
    program.expect_health(); // of a checkpoint that the commit may have made
    program.die();
    program.open();
    rewrite_largest(program);
    program.commit();
}

/// Chunks move, are changed where they are then, move back, and are rewritten when they may not move.
void moves(session& program) {
    begin(program);
    program.add_block(k_block);
    program.commit();
    rewrite_largest(program); // fresh ones of the same log
    program.commit();
    program.poke(largest(program), 70 * KiB, 300);
    program.poke(64);
    program.commit();
    rewrite_largest(program); // after a checkpoint, or in the log, since they have moved in it
    program.poke(40);
    program.commit();
    program.checkpoint();
    program.poke(largest(program), 100 * KiB, 3000);
    program.commit();
    rewrite_largest(program); // back, with changes behind the checkpoint
    program.add_block(20 * KiB);
    program.commit();
    program.poke(largest(program), 101 * KiB, 300); // in a part of what was changed before they moved
    program.add_block(500);
    program.commit();
    program.checkpoint();
    program.verify();
    rewrite_largest(program);
    program.rollback();
    program.change_serial();
    program.commit();
    rewrite_largest(program);
    program.poke(largest(program), 30, 50 * KiB);
    program.commit(durability::lazy);
    rewrite_largest(program); // the copy that was left is needed as long as that is not durable
    program.commit(durability::none);
    program.poke(600);
    program.commit();
    program.close();
    program.open();
    program.poke(largest(program), 10 * KiB, 7000);
    program.commit();
    rewrite_largest(program); // mapped from the file
    program.commit();
    die_and_rewrite_largest(program);
    program.poke(9000);
    program.commit();
}

/// Commit after commit rewrites all of it, so that a checkpoint comes first, or that under way is carried out.
void rewrites(session& program) {
    begin(program);
    program.add_block(k_block);
    program.commit();
    for (std::size_t i = 0; i < 7; i++) {
        rewrite_largest(program);
        if (i == 3) {
            program.rollback();
            rewrite_largest(program);
        }
        program.add_block(30 + i);
        program.commit(i == 2 ? durability::lazy : i == 4 ? durability::none : durability::durable);
        program.poke(largest(program), 64 + 70 * KiB * i / 2, 300);
        if (i % 3 != 1)
            program.commit();
    }
    program.verify();
    program.close();
    program.open();
    for (std::size_t i = 0; i < 2; i++) {
        rewrite_largest(program);
        program.commit();
    }
    die_and_rewrite_largest(program);
}

/// The commit that makes a checkpoint first ends at each of its operations.
void rewrites_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(k_block);
    program.commit();
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            rewrite_largest(program);
            program.commit();
            program.poke(largest(program), 90 * KiB, 3000);
            program.commit();
            rewrite_largest(program);
            return program.try_commit(n, how);
        },
        [&] {
            program.poke(largest(program), 100 * KiB, 300);
            program.commit();
        });
    rewrite_largest(program);
    program.commit();
    program.close();
}

/// Chunks that have moved are freed and given back, and fresh ones take their place.
void moved_and_given_back(session& program) {
    begin(program);
    program.add_block(10 * KiB);
    program.add_block(k_block);
    program.commit();
    rewrite_largest(program);
    program.commit();
    program.checkpoint();
    program.remove_largest();
    program.commit();
    program.checkpoint();
    program.add_sparse_block(k_block, 70 * KiB, 2000); // where nothing is written, holes
    program.commit();
    program.poke(largest(program), 50 * KiB, 300);
    program.commit();
    rewrite_largest(program);
    program.commit();
    program.remove_largest();
    program.add_block(k_block);
    program.commit();
    program.checkpoint();
    rewrite_largest(program);
    program.commit();
    program.remove_largest();
    program.commit();
    program.close();
    program.open();
    program.add_block(k_block);
    program.commit();
    rewrite_largest(program);
    program.commit();
    program.close();
}

/// Moves, and checkpoints after them, end at each of their operations.
void moves_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(k_block);
    program.commit();
    program.checkpoint();
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            rewrite_largest(program);
            return program.try_commit(n, how);
        },
        [&] {
            program.poke(largest(program), 40 * KiB, 100 * KiB);
            program.commit();
        });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        rewrite_largest(program);
        program.commit();
        program.poke(500);
        program.commit();
        return program.try_checkpoint(n, how);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        rewrite_largest(program);
        program.commit();
        return program.try_close(n, how);
    });
    program.open();
    rewrite_largest(program);
    program.commit();
}

void move_largest(session& program) { program.move_block(largest(program)); }

/// A block moves by page tables from chunks of each kind: never committed, just stored, mapped from the file.
void moved_blocks(session& program) {
    begin(program);
    program.add_block(40);
    program.add_block(k_block);
    move_largest(program); // before any commit
    program.add_block(k_block / 2);
    program.commit();
    move_largest(program); // just stored
    program.poke(largest(program), 70 * KiB, 300);
    program.commit();
    move_largest(program);
    program.rollback();
    program.poke(largest(program), 100 * KiB, 3000);
    program.commit(); // newer than what is stored
    move_largest(program);
    program.add_block(k_block); // perhaps where it was
    program.commit(durability::lazy);
    move_largest(program);
    program.commit(durability::none);
    program.checkpoint();
    move_largest(program); // mapped from the file
    program.remove_block(1);
    program.commit();
    program.verify();
    program.checkpoint();
    program.close();
    program.open();
    move_largest(program);
    move_largest(program); // twice in one commit
    program.poke(50);
    program.commit();
    program.expect_health();
    program.die();
    program.open();
    move_largest(program);
    program.rollback();
    program.add_block(k_block);
    move_largest(program);
    program.remove_largest();
    program.commit();
    program.close();
}

/// The commit of a block that has moved ends at each of its operations.
void moved_blocks_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(k_block);
    program.commit();
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            move_largest(program);
            program.poke(200);
            return program.try_commit(n, how);
        },
        [&] {
            move_largest(program);
            program.commit();
        });
    program.add_block(k_block);
    program.commit();
    move_largest(program);
    program.commit();
    program.close();
}

void move_and_go_on(session& program) {
    program.open();
    program.change_anything();
    const auto& blocks = program.current().blocks();
    if (std::ranges::none_of(blocks, [](const content::block& each) { return each.bytes >= k_block; }))
        program.add_block(k_block);
    program.commit();
    for (int i = 0; i < 2; i++) {
        rewrite_largest(program);
        program.add_block(50);
        program.commit();
        program.poke(largest(program), 100 * KiB, 900);
        program.add_block(60);
        program.commit();
    }
}

open_function gathering_engine(std::uint64_t log_limit_bytes, checkpointing how) {
    auto options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    options.scattered_max = 0;
    return engine(options, sections::ordinary, how);
}

/// Each commit that moves chunks brings those back to copy A that others have moved.
void scattered_moves(session& program) {
    begin(program);
    for (int i = 0; i < 3; i++)
        program.add_block(k_block);
    program.commit();
    program.checkpoint();
    for (std::size_t i = 0; i < 7; i++) {
        const auto rewritten = i % 3;
        program.poke((rewritten + 1) % 3, 70 * KiB, 3000); // of those that are brought back to copy A
        program.commit();
        program.poke((rewritten + 2) % 3, 140 * KiB, 3000);
        program.commit();
        program.poke(rewritten, 64, k_block - 64);
        program.poke((rewritten + 1) % 3, 70 * KiB + 100, 300);
        program.poke((rewritten + 2) % 3, 140 * KiB + 100, 300);
        if (i == 5)
            program.rollback();
        program.change_serial();
        program.commit();
        program.poke((rewritten + 1) % 3, 70 * KiB + 1000, 300);
        program.poke((rewritten + 2) % 3, 140 * KiB + 1000, 300);
        program.rollback();
        program.poke((rewritten + 2) % 3, 141 * KiB, 300);
        program.poke((rewritten + 1) % 3, 71 * KiB, 300);
        program.commit();
        if (i % 2 == 1)
            program.checkpoint();
    }
    program.verify();
    program.close();
}

void gathered_cut_short(session& program, session::cut how) {
    begin(program);
    for (int i = 0; i < 2; i++)
        program.add_block(k_block);
    program.commit();
    program.checkpoint();
    std::size_t rewritten = 0;
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            program.poke(rewritten, 64, k_block - 64);
            rewritten = 1 - rewritten;
            return program.try_commit(n, how);
        },
        [&] {
            program.poke(rewritten, 70 * KiB, 300);
            program.commit();
            program.checkpoint();
        });
    program.close();
}

} // namespace

std::vector<workload> move_workloads() {
    return {
        {.name = "moves", .open = engine_with(k_roomy), .phases = {moves}},
        {.name = "moves_in_log", .open = engine_with(16 * k_roomy), .phases = {moves}},
        {.name = "rewriting_moves", .open = engine_with(k_roomy), .phases = {rewrites}},
        {.name = "background_rewriting_moves", .open = background_engine(k_tight), .phases = {rewrites}},
        killed("killed_rewriting_moves", engine_with(k_roomy), rewrites_cut_short, 2),
        failing("failing_rewriting_moves_ext4", engine_with(k_roomy), rewrites_cut_short, simulation::failed_sync::ext4,
                2),
        failing("failing_rewriting_moves_xfs", background_engine(k_tight), rewrites_cut_short,
                simulation::failed_sync::xfs, 2),
        {.name = "declared_moves", .open = engine_with(k_roomy, sections::declared), .phases = {moves}},
        {.name = "background_moves", .open = background_engine(k_tight), .phases = {moves}},
        {.name = "moves_without_durable_writes",
         .open = background_engine(k_tight),
         .phases = {moves},
         .durable_writes = false},
        {.name = "moved_and_given_back", .open = engine_with(k_roomy), .phases = {moved_and_given_back}},
        {.name = "background_moved_and_given_back",
         .open = background_engine(k_tight),
         .phases = {moved_and_given_back}},
        {.name = "moved_blocks", .open = engine_with(k_roomy), .phases = {moved_blocks}},
        {.name = "moved_blocks_declared", .open = engine_with(k_roomy, sections::declared), .phases = {moved_blocks}},
        {.name = "background_moved_blocks", .open = background_engine(k_tight), .phases = {moved_blocks}},
        {.name = "moved_blocks_with_history", .open = engine_with_history(k_roomy), .phases = {moved_blocks}},
        killed("killed_moved_blocks", engine_with(k_roomy), moved_blocks_cut_short, 2),
        failing("failing_moved_blocks", background_engine(k_tight), moved_blocks_cut_short,
                simulation::failed_sync::ext4, 2),
        {.name = "move_and_go_on",
         .open = engine_with(k_roomy),
         .phases = {move_and_go_on, move_and_go_on, move_and_go_on},
         .restarts = 2},
        {.name = "scattered_moves",
         .open = gathering_engine(k_roomy, checkpointing::at_one_go),
         .phases = {scattered_moves},
         .cost = 2},
        {.name = "background_scattered_moves",
         .open = gathering_engine(4 * KiB, checkpointing::in_background),
         .phases = {scattered_moves},
         .cost = 2},
        killed("killed_gathering", gathering_engine(k_roomy, checkpointing::at_one_go), gathered_cut_short, 2),
        failing("failing_gathering", gathering_engine(k_roomy, checkpointing::at_one_go), gathered_cut_short,
                simulation::failed_sync::ext4, 2),
        killed("killed_moving", engine_with(k_roomy), moves_cut_short, 2),
        failing("failing_moves_ext4", engine_with(k_roomy), moves_cut_short, simulation::failed_sync::ext4, 2),
        failing("failing_moves_xfs", background_engine(k_tight), moves_cut_short, simulation::failed_sync::xfs, 2),
        failing("failing_moves_btrfs", engine_with(k_roomy), moves_cut_short, simulation::failed_sync::btrfs, 2),
    };
}

} // namespace remanence::crash
