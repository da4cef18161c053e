// Programs that write more than memory may hold before they commit: chunks are in the file early.
//
// A run of 28 workloads: 24,400 states, no violation.

#include "engine_store.hpp"
#include "workloads.hpp"

namespace remanence::crash {

namespace {

constexpr std::uint64_t k_spill_budget = 512 * KiB; // the least there is
constexpr std::uint64_t k_spill_block = 90 * KiB;
constexpr std::uint64_t k_spill_blocks = 12; // together beyond it

open_function spilling_engine(std::uint64_t log_limit_bytes, checkpointing how = checkpointing::at_one_go,
                              sections kind = sections::declaring) {
    auto options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    options.dirty_limit_bytes = k_spill_budget;
    return engine(options, kind, how);
}

void begin_to_spill(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.commit();
}

void add_spilled(session& program, std::uint64_t blocks = k_spill_blocks) {
    for (std::uint64_t i = 0; i < blocks; i++)
        program.add_block(k_spill_block);
}

// Commits of what was spilled, written again, or freed; and what follows upon them.
void spilled_commits(session& program) {
    begin_to_spill(program);
    add_spilled(program);
    program.commit();
    program.poke(0, 100, 9000); // of a chunk that is mapped from the file
    program.commit();
    add_spilled(program);
    program.poke(k_spill_blocks - 1, 5000, 60 * KiB); // of this commit, and spilled
    program.poke(2 * k_spill_blocks - 1, 5000, 300);  // of the one before
    program.remove_block(k_spill_blocks - 2);
    program.add_zero_block(150 * KiB); // where it was, perhaps, and where bytes are in the file
    program.commit();
    program.verify();
    program.checkpoint();
    add_spilled(program, 7);
    program.poke(3, 5000, 300);
    program.commit();
    program.expect_health(); // of a checkpoint that the commit may have made
    program.die();
    program.open();
    add_spilled(program);
    program.close(); // without them
    program.open();
    program.add_sparse_block(600 * KiB, 70 * KiB, 300);
    program.commit();
    program.close();
}

// Blocks that move by page tables, before and after their chunks are spilled.
void spilled_and_moved(session& program) {
    begin_to_spill(program);
    program.add_block(400 * KiB);
    program.move_block(0);
    add_spilled(program);
    program.move_block(k_spill_blocks); // spilled, at least in part
    program.commit();
    program.add_block(300 * KiB);
    program.commit();
    program.move_block(0); // just stored
    add_spilled(program, 7);
    program.move_block(7);
    program.verify();
    program.commit();
    program.checkpoint();
    add_spilled(program);
    program.move_block(k_spill_blocks);
    program.rollback();
    program.add_block(450 * KiB);
    program.move_block(0);
    program.commit();
    program.close();
}

// Rollbacks of what was spilled: its place is used again by less.
void spilled_rollbacks(session& program) {
    begin_to_spill(program);
    program.add_block(30 * KiB);
    program.commit();
    add_spilled(program);
    program.rollback();
    program.add_sparse_block(900 * KiB, 70 * KiB, 300);
    program.commit();
    add_spilled(program);
    program.poke(2, 100, 50 * KiB);
    program.rollback();
    add_spilled(program);
    program.commit();
    program.verify();
    add_spilled(program);
    program.remove_largest();
    program.rollback();
    program.close();
    program.open();
    add_spilled(program, 8);
    program.rollback();
    program.add_zero_block(500 * KiB);
    program.commit();
    program.close();
}

// Freed before any commit: their copies are holes again before anything else is there.
void spilled_and_freed(session& program) {
    begin_to_spill(program);
    for (int i = 0; i < 2; i++) {
        add_spilled(program);
        for (std::uint64_t n = 0; n < k_spill_blocks; n++)
            program.remove_block(0);
        program.change_serial();
        program.commit();
        program.add_sparse_block(700 * KiB, 70 * KiB, 300);
        program.commit();
        program.remove_largest();
        program.commit();
        program.checkpoint();
    }
    program.close();
}

void spilling_cut_short(session& program, session::cut how) {
    begin_to_spill(program);
    program.add_block(3000);
    program.commit();
    const auto leave_less = [&] {
        program.open();
        program.add_sparse_block(500 * KiB, 70 * KiB, 300); // over what was left there
        program.commit();
        program.remove_largest();
        program.commit();
    };
    for (std::uint64_t n = 0; !program.try_changes(n, how, [&] { add_spilled(program); }); n++)
        leave_less();
    program.rollback();
    for (std::uint64_t n = 0;; n++) {
        add_spilled(program);
        if (program.try_commit(n, how))
            break;
        leave_less();
    }
    program.close();
}

void spilling_on_full_disk(session& program) {
    begin_to_spill(program);
    for (std::uint64_t n = 0;; n++) {
        const bool done = program.change_on_full_disk(n, [&] { add_spilled(program); });
        if (program.is_dead())
            program.open();
        program.change_serial();
        if (n % 2 == 0)
            program.commit();
        else
            program.rollback();
        for (auto left = program.current().blocks().size(); left > 0; left--)
            program.remove_block(0);
        program.change_serial();
        program.commit();
        if (done)
            break;
    }
    add_spilled(program);
    program.commit();
    program.close();
}

// Checkpoints go on beside; some of these need another region while they do.
void spilling_beside_checkpoints(session& program) {
    begin_to_spill(program);
    program.add_block(100 * KiB);
    program.commit();
    for (std::uint64_t i = 0; i < 4; i++) {
        for (std::uint64_t n = 0; n < 4; n++) {
            program.poke(program.current().blocks().size() - 1, 5000 + 9000 * n, 3000);
            program.commit();
        }
        add_spilled(program, 5 + 7 * i);
        program.poke(3, 100, 9000);
        if (i == 1)
            program.rollback();
        program.change_serial();
        program.commit();
    }
    program.verify();
    program.close();
}

// Blocks that are stored.

/// Leaves them stored, and their chunks mapped from the file.
void begin_to_rewrite(session& program) {
    begin_to_spill(program);
    add_spilled(program);
    program.commit();
    program.close();
    program.open();
}

void rewrite_large(session& program, std::uint64_t from = 0) {
    for (std::size_t i = from; i < program.current().blocks().size(); i++) {
        if (program.current().filled_bytes(i) == k_spill_block)
            program.poke(i, 64, k_spill_block - 64);
    }
}

// They are spilled where they move with the next commit, written again, and moved back.
void spilled_rewrites(session& program) {
    begin_to_rewrite(program);
    program.poke(3, 5000, 300);
    program.commit();
    rewrite_large(program);
    program.poke(k_spill_blocks - 1, 5000, 300); // of this commit, and spilled
    program.commit();
    program.poke(2, 9000, 300);
    program.commit();
    rewrite_large(program); // which may not move before a checkpoint
    program.commit();
    program.verify();
    program.checkpoint();
    program.poke(4, 9000, 300);
    program.commit();
    rewrite_large(program, 3);
    program.checkpoint(); // with all that uncommitted
    program.rollback();
    program.change_serial();
    program.commit();
    rewrite_large(program);
    program.remove_block(3);
    program.add_zero_block(80 * KiB); // where it was, perhaps
    program.commit();
    program.expect_health(); // of a checkpoint that the commit may have made
    program.checkpoint();
    rewrite_large(program);
    program.expect_health(); // what is spilled may fail
    program.die();
    program.open();
    rewrite_large(program);
    program.close(); // without that
    program.open();
    program.add_sparse_block(300 * KiB, 70 * KiB, 300);
    rewrite_large(program);
    program.commit();
    program.poke(5, 9000, 300);
    program.commit();
    program.close();
}

// What is freed is no part of the commit, and leaves its place.
void spilled_rewrites_freed(session& program) {
    begin_to_rewrite(program);
    rewrite_large(program);
    for (std::uint64_t n = 0; n < k_spill_blocks / 2; n++)
        program.remove_block(k_spill_blocks / 4);
    program.commit();
    program.checkpoint();
    program.add_sparse_block(400 * KiB, 70 * KiB, 300);
    rewrite_large(program);
    program.commit();
    program.remove_largest();
    program.commit();
    program.close();
}

// Attempts to rewrite that were not cut short, and then there are no more: beside threads one that comes by little may be
// followed by one that comes by more.
constexpr std::uint64_t k_spared = 6;

void rewriting_cut_short(session& program, session::cut how) {
    begin_to_rewrite(program);
    for (std::uint64_t n = 0, spared = 0; spared < k_spared; n += 3) {
        if (program.try_changes(n, how, [&] { rewrite_large(program); })) {
            spared++;
            program.rollback();
        } else {
            program.open();
        }
        program.change_serial();
        program.commit();
    }
    for (std::uint64_t n = 0;; n++) {
        rewrite_large(program);
        if (program.try_commit(n, how))
            break;
        program.open();
        program.poke(2, 9000, 300);
        program.commit();
        program.close();
        program.open();
    }
    program.close();
}

void rewriting_on_full_disk(session& program) {
    begin_to_rewrite(program);
    for (std::uint64_t n = 0, spared = 0; spared < k_spared; n++) {
        if (program.change_on_full_disk(n, [&] { rewrite_large(program); }))
            spared++;
        if (program.is_dead())
            program.open();
        program.change_serial();
        if (n % 2 == 0)
            program.commit();
        else
            program.rollback();
        program.checkpoint();
        program.close();
        program.open();
    }
    rewrite_large(program);
    program.commit();
    program.close();
}

// Checkpoints go on beside.
void rewriting_beside_checkpoints(session& program) {
    begin_to_rewrite(program);
    for (std::uint64_t i = 0; i < 5; i++) {
        for (std::uint64_t n = 0; n < 4; n++) {
            program.poke((3 * i + n) % k_spill_blocks, 5000 + 9000 * n, 3000);
            program.commit();
        }
        rewrite_large(program, i % 2 * 4);
        if (i == 3)
            program.rollback();
        program.change_serial();
        program.commit();
    }
    program.verify();
    program.close();
}

// Commits that move what was spilled are not durable when the next changes are spilled, or rolled back.
void spilled_rewrites_asynchronously(session& program) {
    begin_to_rewrite(program);
    for (std::uint64_t i = 0; i < 4; i++) {
        rewrite_large(program);
        const std::uint64_t moved = program.commit_async();
        program.poke(2, 9000, 300); // of what has moved
        program.commit_async();
        add_spilled(program, 7); // and what may not move again
        rewrite_large(program, 4);
        if (i % 2 == 0) {
            program.rollback();
            add_spilled(program, 2);
        }
        program.commit(i < 2 ? log::durability::lazy : log::durability::none);
        program.remove_block(0);
        program.add_sparse_block(200 * KiB, 70 * KiB, 300);
        program.poke(5, 100, 300);
        const std::uint64_t last = program.commit_async();
        if (i != 1)
            program.wait(i == 0 ? moved : last);
        if (i == 2)
            program.checkpoint();
    }
    program.expect_health(); // of a checkpoint that a commit may have made
    program.die();
    program.open();
    rewrite_large(program);
    program.commit_async();
    rewrite_large(program, 3);
    program.close();
}

// What is new, and what is stored, is written here and there while chunks of it are spilled, and while that is committed.
void spilled_while_written(session& program) {
    begin_to_rewrite(program);
    const auto write_here_and_there = [&] {
        for (std::uint64_t i = 0; i < 30; i++) {
            program.poke(8000);
            if (i % 10 == 1)
                program.add_block(k_spill_block);
        }
    };
    for (std::uint64_t i = 0; i < 5; i++) {
        rewrite_large(program, i % 2 * 6);
        write_here_and_there();
        const std::uint64_t last = program.commit_async();
        write_here_and_there();
        program.wait(last);
        if (i == 1)
            program.rollback();
        if (i % 2 == 0) {
            rewrite_large(program, 3);
            program.checkpoint();
        }
        program.change_serial();
        program.commit(i % 2 == 0 ? log::durability::durable : log::durability::lazy);
        while (program.current().blocks().size() > k_spill_blocks)
            program.remove_block(k_spill_blocks / 2);
    }
    program.expect_health();
    program.verify();
    program.close();
}

void killed_rewriting(session& program) { rewriting_cut_short(program, session::cut::death); }
void failing_rewriting(session& program) { rewriting_cut_short(program, session::cut::failure); }
void killed_spilling(session& program) { spilling_cut_short(program, session::cut::death); }
void failing_spilling(session& program) { spilling_cut_short(program, session::cut::failure); }

} // namespace

std::vector<workload> spill_workloads() {
    constexpr std::uint64_t k_log = 1 * MiB;
    constexpr std::uint64_t k_short_log = 12 * KiB;
    constexpr auto k_beside = checkpointing::in_background;
    return {
        {.name = "spilled_commits", .open = spilling_engine(k_log), .phases = {spilled_commits}, .cost = 2},
        {.name = "spilled_rollbacks", .open = spilling_engine(k_log), .phases = {spilled_rollbacks}, .cost = 2},
        {.name = "spilled_and_freed", .open = spilling_engine(k_log), .phases = {spilled_and_freed}, .cost = 2},
        {.name = "spilled_and_moved",
         .open = spilling_engine(k_log, checkpointing::at_one_go, sections::ordinary),
         .phases = {spilled_and_moved},
         .cost = 2},
        {.name = "declared_spilled_commits",
         .open = spilling_engine(k_short_log, checkpointing::at_one_go, sections::declared),
         .phases = {spilled_commits},
         .cost = 2},
        {.name = "killed_spilling",
         .open = spilling_engine(k_log),
         .phases = {killed_spilling},
         .cuts_short = true,
         .cost = 2},
        {.name = "failing_spilling_ext4",
         .open = spilling_engine(k_log),
         .phases = {failing_spilling},
         .after_failed_sync = simulation::failed_sync::ext4,
         .cuts_short = true,
         .cost = 2},
        {.name = "failing_spilling_xfs",
         .open = spilling_engine(k_log),
         .phases = {failing_spilling},
         .after_failed_sync = simulation::failed_sync::xfs,
         .cuts_short = true,
         .cost = 2},
        {.name = "spilling_on_full_disk",
         .open = spilling_engine(k_log),
         .phases = {spilling_on_full_disk},
         .cuts_short = true,
         .cost = 2},
        {.name = "background_spilling",
         .open = spilling_engine(k_short_log, k_beside),
         .phases = {spilling_beside_checkpoints},
         .cost = 2},
        {.name = "background_spilled_commits",
         .open = spilling_engine(4 * KiB, k_beside),
         .phases = {spilled_commits},
         .cost = 2},
        {.name = "spilled_rewrites", .open = spilling_engine(k_log), .phases = {spilled_rewrites}, .cost = 2},
        {.name = "spilled_rewrites_freed",
         .open = spilling_engine(k_log),
         .phases = {spilled_rewrites_freed},
         .cost = 2},
        {.name = "declared_spilled_rewrites",
         .open = spilling_engine(k_short_log, checkpointing::at_one_go, sections::declared),
         .phases = {spilled_rewrites},
         .cost = 2},
        {.name = "spilled_rewrites_asynchronously",
         .open = spilling_engine(k_log),
         .phases = {spilled_rewrites_asynchronously},
         .cost = 2},
        {.name = "background_spilled_rewrites_asynchronously",
         .open = spilling_engine(40 * KiB, k_beside),
         .phases = {spilled_rewrites_asynchronously},
         .cost = 2},
        {.name = "watched_spilled_rewrites",
         .open = spilling_engine(k_log, checkpointing::at_one_go, sections::watched),
         .phases = {spilled_rewrites},
         .cost = 2},
        {.name = "background_watched_spilled_rewrites",
         .open = spilling_engine(40 * KiB, k_beside, sections::watched),
         .phases = {spilled_rewrites},
         .cost = 2},
        {.name = "background_spilled_while_written",
         .open = spilling_engine(k_log, k_beside, sections::watched),
         .phases = {spilled_while_written},
         .cost = 8},
        {.name = "background_spilled_while_written_tight",
         .open = spilling_engine(40 * KiB, k_beside, sections::watched),
         .phases = {spilled_while_written},
         .cost = 8},
        {.name = "background_killed_watched_rewriting",
         .open = spilling_engine(40 * KiB, k_beside, sections::watched),
         .phases = {killed_rewriting},
         .cuts_short = true,
         .cost = 8},
        {.name = "background_failing_watched_rewriting",
         .open = spilling_engine(40 * KiB, k_beside, sections::watched),
         .phases = {failing_rewriting},
         .after_failed_sync = simulation::failed_sync::xfs,
         .cuts_short = true,
         .cost = 8},
        {.name = "background_watched_rewriting_on_full_disk",
         .open = spilling_engine(40 * KiB, k_beside, sections::watched),
         .phases = {rewriting_on_full_disk},
         .cuts_short = true,
         .cost = 8},
        {.name = "killed_rewriting",
         .open = spilling_engine(k_log),
         .phases = {killed_rewriting},
         .cuts_short = true,
         .cost = 2},
        {.name = "failing_rewriting_ext4",
         .open = spilling_engine(k_log),
         .phases = {failing_rewriting},
         .after_failed_sync = simulation::failed_sync::ext4,
         .cuts_short = true,
         .cost = 2},
        {.name = "failing_rewriting_xfs",
         .open = spilling_engine(k_log),
         .phases = {failing_rewriting},
         .after_failed_sync = simulation::failed_sync::xfs,
         .cuts_short = true,
         .cost = 2},
        {.name = "rewriting_on_full_disk",
         .open = spilling_engine(k_log),
         .phases = {rewriting_on_full_disk},
         .cuts_short = true,
         .cost = 2},
        {.name = "background_rewriting",
         .open = spilling_engine(k_short_log, k_beside),
         .phases = {rewriting_beside_checkpoints},
         .cost = 2},
        {.name = "background_spilled_rewrites",
         .open = spilling_engine(40 * KiB, k_beside),
         .phases = {spilled_rewrites},
         .cost = 2},
    };
}

} // namespace remanence::crash
