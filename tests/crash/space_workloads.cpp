// Memory that is freed, used again, given back, or never used.
#include "base/assert.hpp"
#include "workload_parts.hpp"

#include <functional>

namespace remanence::crash {

namespace {

// More runs of skipped chunks than the chunk map's first place holds, so that recoveries must find it another.
void many_skipped_chunks(session& program) {
    begin(program);
    program.add_sparse_block(13 * MiB, 130 * KiB, 100);
    program.commit();
    program.change_serial();
    program.commit();
    program.checkpoint();
    program.add_sparse_block(2 * MiB, 130 * KiB, 100);
    program.commit();
    program.close();
}

// Chunks that are changed and then freed within one commit are no part of it; their memory reads as before.
void free_what_was_changed(session& program) {
    begin(program);
    program.add_block(700 * KiB);
    program.commit();
    const auto change_and_remove_largest = [&] {
        const std::size_t changed = largest(program);
        const std::uint64_t bytes = program.current().blocks()[changed].bytes;
        for (std::uint64_t at = 4 * KiB; at < bytes; at += 50 * KiB)
            program.poke(changed, at, 100);
        program.remove_largest();
    };
    change_and_remove_largest(); // stored, in anonymous memory
    program.rollback();
    change_and_remove_largest();
    program.change_serial();
    program.commit();
    program.add_block(600 * KiB);
    program.commit();
    program.close();
    program.open(); // mapped from the file now
    change_and_remove_largest();
    program.commit();
    program.add_block(650 * KiB);
    program.rollback();
    program.add_block(650 * KiB);
    change_and_remove_largest(); // never committed
    program.add_block(90 * KiB);
    program.commit();
    program.checkpoint();
    program.add_block(500 * KiB);
    program.commit();
    program.close();
}

void free_and_reuse(session& program) {
    begin(program);
    program.add_block(500 * KiB);
    program.add_block(100);
    program.commit();
    program.remove_largest();
    program.commit();
    program.add_block(300 * KiB);
    program.commit();
    program.checkpoint();
    program.remove_largest();
    program.add_sparse_block(400 * KiB, 130 * KiB, 2000);
    program.commit();
    program.remove_largest();
    program.add_block(120 * KiB);
    program.rollback();
    program.add_sparse_block(1 * MiB, 400 * KiB, 100);
    program.commit();
    program.remove_largest();
    program.commit();
    program.close();
    program.open();
    program.add_block(200 * KiB);
    program.commit();
}

// Chunks that no block needs are given back, by checkpoints and by closing, and used again.
void given_back(session& program) {
    begin(program);
    program.add_block(30 * KiB);
    program.add_block(500 * KiB);
    program.add_block(20 * KiB);
    program.add_block(400 * KiB);
    program.commit();
    program.checkpoint();
    program.remove_largest(); // before others
    program.commit();
    program.checkpoint();
    program.change_serial();
    program.commit();
    program.add_sparse_block(200 * KiB, 70 * KiB, 3000); // in a part of it
    program.commit();
    program.remove_largest(); // at the end
    program.commit();
    program.checkpoint();
    program.verify();
    program.add_block(450 * KiB);
    program.commit();
    program.remove_largest();
    program.checkpoint(); // is not committed: nothing is given back
    program.rollback();
    program.poke(largest(program), 70 * KiB, 300);
    program.commit();
    program.remove_largest();
    program.commit();
    program.add_block(100 * KiB); // nor are these, of which close() knows nothing
    program.remove_block(0);
    program.close();
    program.open();
    program.add_block(300 * KiB);
    program.commit();
    program.verify();
    program.remove_largest();
    program.commit();
    program.close();
}

/// Calls, and closings, that give back what was freed end at each of their operations. `add` adds what is freed, its
/// largest block last.
void giving_back_cut_short(session& program, session::cut how, const std::function<void()>& add,
                           const std::function<bool(std::uint64_t n)>& call) {
    begin(program);
    program.add_block(30 * KiB);
    program.commit();
    const auto leave_unused = [&] {
        add();
        program.commit();
        program.remove_largest();
        program.commit();
    };
    cut_at_each_operation(program, [&](std::uint64_t n) {
        leave_unused();
        return call(n);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        leave_unused();
        return program.try_close(n, how);
    });
    program.open();
    add();
    program.commit();
}

void given_back_cut_short(session& program, session::cut how) {
    giving_back_cut_short(
        program, how, [&] { program.add_block(300 * KiB); },
        [&](std::uint64_t n) { return program.try_checkpoint(n, how); });
}

/// The slab that served the last small blocks has none any more.
void empty_a_slab(session& program) {
    constexpr int k_more_than_a_slab = 40;
    for (int i = 0; i != k_more_than_a_slab; ++i)
        program.add_block(2000);
    for (int i = 0; i != k_more_than_a_slab; ++i)
        program.remove_block(0); // the newest
}

// The heap grows by regions, whose tables lie behind all copies before, and its chunk map moves behind them, too. Shrinking and closing
// take both away, and it grows again.
void shrunk(session& program) {
    begin(program);
    program.add_block(30 * KiB);
    program.commit();
    program.add_sparse_block(5 * MiB, 1 * MiB, 100);
    program.commit();
    program.add_sparse_block(13 * MiB, 130 * KiB, 100);
    program.commit();
    program.checkpoint();
    program.remove_largest();
    program.commit();
    program.shrink();
    program.change_serial();
    program.commit();
    program.remove_largest();
    program.commit();
    program.shrink();
    program.shrink(); // there is nothing to do
    empty_a_slab(program);
    program.commit();
    program.checkpoint();             // gives back all that was free already
    REM_CHECK(program.shrink() != 0); // a commit says that the slab is free
    program.verify();
    program.add_sparse_block(6 * MiB, 500 * KiB, 100);
    program.commit();
    program.die();
    program.open();
    program.remove_largest();
    program.commit();
    program.close();
    program.open();
    program.shrink(); // before the first commit
    program.add_sparse_block(5 * MiB, 2 * MiB, 100);
    program.commit();
    program.verify();
    program.close();
}

void shrunk_cut_short(session& program, session::cut how) {
    const auto add_regions = [&] {
        empty_a_slab(program);
        program.add_sparse_block(5 * MiB, 3 * MiB, 100);
    };
    giving_back_cut_short(program, how, add_regions, [&](std::uint64_t n) { return program.try_shrink(n, how); });
}

void removed_roots(session& program) {
    begin(program);
    program.add_block(30 * KiB);
    program.add_block(200);
    program.commit();
    program.remove_root();
    program.rollback();
    program.remove_root();
    program.commit();
    program.add_root(); // where the other one was
    program.add_block(9 * KiB);
    program.commit();
    program.checkpoint();
    program.remove_root();
    program.commit();
    program.close();
    program.open();
    program.add_root();
    program.add_block(100 * KiB);
    program.commit();
    program.die();
    program.open();
    program.remove_root();
    program.add_root();
    program.commit();
}

/// Commits of fresh chunks are cut short at each operation; where they left bytes in the file, most pages of the next
/// commit are zeros.
void debris(session& program, session::cut how) {
    begin(program);
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            program.add_block(150 * KiB);
            return program.try_commit(n, how);
        },
        [&] {
            program.add_sparse_block(150 * KiB, 40 * KiB, 100); // something in each chunk: else it would be skipped
            program.commit();
            program.close();
            program.open(); // and reads them from the file
        });
}

/// Likewise, where chunks between others were skipped so far.
void debris_in_gaps(session& program, session::cut how) {
    begin(program);
    program.add_sparse_block(6 * MiB, 2 * MiB, 100);
    program.commit();
    std::uint64_t gap = 0;
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            gap = (n + 1) * 64 * KiB + 8 * KiB;
            program.poke(0, gap, 50 * KiB);
            return program.try_commit(n, how);
        },
        [&] {
            program.poke(0, gap, 100);
            program.commit();
            program.close();
            program.open();
        });
}

/// Commits that make the file longer are cut short at each operation; what they have written there, and how long the file is, may be
/// lost although the next commits, which find it in the page cache, succeed.
void growth_cut_short(session& program, session::cut how) {
    begin(program);
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            program.add_sparse_block(150 * KiB, 70 * KiB, 100); // chunks whose last pages are zeros
            return program.try_commit(n, how);
        },
        [&] {
            program.add_sparse_block(150 * KiB, 70 * KiB, 100);
            program.commit();
        });
}

} // namespace

std::vector<workload> space_workloads() {
    return {
        {.name = "many_skipped_chunks", .open = engine_with(k_roomy), .phases = {many_skipped_chunks}, .cost = 4},
        {.name = "background_skipped_chunks",
         .open = background_engine(2 * KiB),
         .phases = {many_skipped_chunks},
         .cost = 4},
        {.name = "free_what_was_changed", .open = engine_with(k_roomy), .phases = {free_what_was_changed}},
        {.name = "free_and_reuse", .open = engine_with(k_roomy), .phases = {free_and_reuse}},
        {.name = "declared_free_and_reuse",
         .open = engine_with(k_roomy, sections::declared),
         .phases = {free_and_reuse}},
        {.name = "background_free_and_reuse", .open = background_engine(k_tight), .phases = {free_and_reuse}},
        {.name = "removed_roots", .open = engine_with(k_roomy), .phases = {removed_roots}},
        {.name = "given_back", .open = engine_with(k_roomy), .phases = {given_back}},
        {.name = "declared_given_back", .open = engine_with(k_tight, sections::declared), .phases = {given_back}},
        {.name = "background_given_back", .open = background_engine(k_tight), .phases = {given_back}},
        killed("killed_giving_back", engine_with(k_roomy), given_back_cut_short),
        failing("failing_giving_back_ext4", engine_with(k_roomy), given_back_cut_short, simulation::failed_sync::ext4),
        failing("failing_giving_back_btrfs", engine_with(k_roomy), given_back_cut_short,
                simulation::failed_sync::btrfs),
        {.name = "shrunk", .open = engine_with(k_roomy), .phases = {shrunk}, .cost = 4},
        {.name = "background_shrunk", .open = background_engine(k_tight), .phases = {shrunk}, .cost = 4},
        killed("killed_shrinking", engine_with(k_roomy), shrunk_cut_short),
        failing("failing_shrinking_ext4", engine_with(k_roomy), shrunk_cut_short, simulation::failed_sync::ext4),
        killed("debris", engine_with(k_roomy), debris, 5),
        killed("debris_in_gaps", engine_with(k_roomy), debris_in_gaps, 5),
        failing("failing_growth_ext4", engine_with(k_roomy), growth_cut_short, simulation::failed_sync::ext4, 5),
        failing("failing_growth_xfs", engine_with(k_roomy), growth_cut_short, simulation::failed_sync::xfs, 5),
        failing("failing_growth_btrfs", engine_with(k_roomy), growth_cut_short, simulation::failed_sync::btrfs, 5),
    };
}

} // namespace remanence::crash
