// Commits of few and of many bytes.
#include "copied_store.hpp"
#include "workload_parts.hpp"

namespace remanence::crash {

namespace {

void create(session& program) {
    program.open();
    program.close(); // nothing committed
    begin(program);
    program.close();
    program.open();
    program.die();
    program.open();
    program.change_serial();
    program.rollback(); // leaves nothing to commit
    program.close();
}

void small_commits(session& program) {
    begin(program);
    for (std::uint64_t i = 0; i < 5; i++) {
        program.add_block(40 + 333 * i);
        program.commit();
        program.poke(1 + 5 * i);
        program.change_serial();
        program.commit();
        program.add_block(5000);
        program.poke(16);
        program.remove_block(program.current().blocks().size() - 1);
        program.rollback();
    }
    program.remove_block(2);
    program.commit();
    program.close();
    program.open();
    program.poke(9);
    program.commit();
    program.die();
    program.open();
    program.add_block(700);
    program.commit();
    program.poke(3);
    program.commit();
}

void bulk_commits(session& program) {
    begin(program);
    program.add_block(100 * KiB);
    program.commit();
    program.add_block(300 * KiB);
    program.add_block(30);
    program.commit();
    program.poke(1, 4096, 200 * KiB); // dense, in chunks that are stored
    program.poke(64);
    program.commit();
    program.add_block(150 * KiB);
    program.rollback();
    program.add_block(90 * KiB);
    program.poke(2, 10000, 50 * KiB);
    program.commit();
    program.checkpoint();
    program.add_block(70 * KiB);
    program.poke(64);
    program.commit();
    program.close();
}

void growth(session& program) {
    begin(program);
    program.add_sparse_block(3 * MiB, 500 * KiB, 600);
    program.commit();
    program.add_block(2000);
    program.add_sparse_block(5 * MiB, 900 * KiB, 5000);
    program.commit();
    program.poke(50);
    program.commit();
    program.add_sparse_block(14 * MiB, 3 * MiB, 9000);
    program.commit();
    program.add_block(3000);
    program.poke(50);
    program.commit();
    program.die();
    program.open();
    program.add_sparse_block(30 * MiB, 7 * MiB, 3000);
    program.commit();
    program.checkpoint();
    program.poke(100);
    program.commit();
    program.close();
}

void checkpoints(session& program) {
    begin(program);
    for (std::uint64_t i = 0; i < 12; i++) {
        if (i < 6)
            program.add_block(500 + 1000 * i);
        else
            program.poke(300);
        program.change_serial();
        program.commit();
        if (i % 5 == 4)
            program.checkpoint();
    }
    program.checkpoint();
    program.checkpoint(); // with nothing to apply
    program.poke(20);
    program.commit();
    program.poke(20);
    program.checkpoint(); // with changes that are not committed
    program.poke(20);
    program.commit();
    program.checkpoint();
    program.poke(20);
    program.rollback();
    program.poke(20);
    program.commit();
}

/// Many small blocks, some of which another thread frees.
void many_blocks(session& program) {
    begin(program);
    for (std::uint64_t i = 0; i < 4; i++) {
        for (std::uint64_t n = 0; n < 20; n++)
            program.add_block(40 + 150 * i + 7 * n);
        program.commit();
        for (std::uint64_t n = 0; n < 8; n++)
            program.remove_block(n); // every other one
        program.add_block(3000 * i);
        program.poke(20);
        program.commit();
        program.add_block(50);
        program.remove_block(1);
        program.remove_block(5);
        program.rollback();
    }
    program.add_block(60);
    program.remove_block(3);
    program.die();
    program.open();
    program.remove_block(3);
    program.add_block(60);
    program.commit();
    program.checkpoint();
    program.remove_root();
    program.commit();
    program.close();
}

/// Goes on after a power loss; on what it left, once more.
void go_on(session& program) {
    program.open();
    for (int i = 0; i < 3; i++) {
        program.change_anything();
        program.commit();
    }
    program.add_block(70 * KiB);
    program.commit();
    program.checkpoint();
    program.poke(100);
    program.commit();
}

void go_on_and_close(session& program) {
    go_on(program);
    program.close();
    program.open();
    program.change_anything();
    program.commit();
}

/// On a heap that is a copy.
void copied(session& program) {
    begin(program);
    program.add_block(90 * KiB);
    program.commit();
    program.poke(100);
    program.commit();
    program.close();
}

/// Each thing that a program does is cut short at its first operation, at its second, and so on until it succeeds; each
/// time the heap is opened again at once, from what the page cache holds rather than the medium.
void all_cut_short(session& program, session::cut how) {
    for (std::uint64_t n = 0; !program.try_open(n, how); n++) {
    }
    // The first commit of a session begins the log.
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.change_anything();
        return program.try_commit(n, how);
    });
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            program.change_serial();
            return program.try_commit(n, how);
        },
        [&] {
            program.change_anything();
            program.commit();
        });
    // With an empty log, which could not repair what the record changes. Always the same page, so that each commit is made
    // of the same operations and none of them is skipped.
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            program.checkpoint();
            program.change_serial();
            return program.try_commit(n, how);
        },
        [&] {
            program.change_serial();
            program.commit();
        });
    for (std::uint64_t n = 0; !program.try_checkpoint(n, how); n++) {
        program.open();
        program.poke(50);
        program.commit();
    }
    program.poke(10);
    program.commit();
    program.die();
    for (std::uint64_t n = 0; !program.try_open(n, how); n++) { // with something to recover, the first time at least
    }
    program.poke(11);
    program.commit();
    for (std::uint64_t n = 0; !program.try_close(n, how); n++) {
        program.open();
        program.poke(12);
        program.commit();
    }
    program.open();
    program.change_anything();
    program.commit();
}

} // namespace

std::vector<workload> commit_workloads() {
    return {
        {.name = "create", .open = engine_with(k_roomy), .phases = {create}},
        {.name = "small_commits", .open = engine_with(k_roomy), .phases = {small_commits}},
        {.name = "declared_small_commits", .open = engine_with(k_roomy, sections::declared), .phases = {small_commits}},
        {.name = "bulk_commits", .open = engine_with(k_roomy), .phases = {bulk_commits}},
        {.name = "declared_bulk_commits", .open = engine_with(k_roomy, sections::declared), .phases = {bulk_commits}},
        {.name = "background_bulk", .open = background_engine(100 * KiB), .phases = {bulk_commits}},
        {.name = "growth", .open = engine_with(k_roomy), .phases = {growth}, .cost = 5},
        {.name = "background_growth", .open = background_engine(k_tight), .phases = {growth}, .cost = 5},
        {.name = "checkpoints", .open = engine_with(k_tight), .phases = {checkpoints}},
        {.name = "declared_checkpoints", .open = engine_with(k_tight, sections::declared), .phases = {checkpoints}},
        {.name = "background_checkpoints", .open = background_engine(4 * KiB), .phases = {checkpoints}},
        {.name = "without_durable_writes",
         .open = engine_with(k_tight),
         .phases = {checkpoints},
         .durable_writes = false},
        {.name = "copied", .open = copied_engine(small_heap_options()), .phases = {copied}},
        {.name = "replaced", .open = replaced_engine(small_heap_options()), .phases = {copied}},
        {.name = "crash_and_go_on",
         .open = engine_with(k_tight),
         .phases = {go_on, go_on, go_on_and_close},
         .restarts = 2},
        {.name = "background_crash_and_go_on",
         .open = background_engine(4 * KiB),
         .phases = {go_on, go_on, go_on_and_close},
         .restarts = 2},
        {.name = "elsewhere_crash_and_go_on",
         .open = engine_elsewhere_with(k_tight),
         .phases = {small_commits, go_on, go_on_and_close},
         .restarts = 2},
        {.name = "elsewhere_declared",
         .open = engine_elsewhere_with(k_tight, sections::declared),
         .phases = {bulk_commits, go_on},
         .restarts = 2},
        {.name = "elsewhere_background",
         .open = engine_elsewhere_with(4 * KiB, sections::ordinary, checkpointing::in_background),
         .phases = {checkpoints, go_on_and_close},
         .restarts = 2},
        {.name = "among_threads", .open = engine_with(k_tight, sections::among_threads), .phases = {many_blocks}},
        {.name = "among_threads_crash_and_go_on",
         .open = engine_with(k_tight, sections::among_threads),
         .phases = {many_blocks, go_on_and_close},
         .restarts = 2},
        killed("killed_among_threads", engine_with(k_roomy, sections::among_threads), all_cut_short),
        killed("killed", engine_with(k_roomy), all_cut_short),
        killed("killed_elsewhere", engine_elsewhere_with(k_roomy), all_cut_short),
        failing("failing_device_ext4", engine_with(k_roomy), all_cut_short, simulation::failed_sync::ext4),
        failing("failing_device_xfs", engine_with(k_roomy), all_cut_short, simulation::failed_sync::xfs),
        failing("failing_device_btrfs", engine_with(k_roomy), all_cut_short, simulation::failed_sync::btrfs),
    };
}

} // namespace remanence::crash
