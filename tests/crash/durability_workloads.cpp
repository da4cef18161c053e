// How durable commits are when they return, and the log that they lie in.
//
// Long runs: 500,441 states of six workloads of durabilities, 114,544 of 14 asynchronous ones: no violation.
#include "store/superblocks.hpp"
#include "workload_parts.hpp"

#include <array>
#include <memory>
#include <string>

namespace remanence::crash {

namespace {

using log::durability;

/// Records of many sizes, more than a log segment together. Every third of the long ones is as durable as short ones are.
void grow_log(session& program, std::uint64_t rounds, durability of_long, durability of_short) {
    begin(program);
    program.add_block(800 * KiB);
    program.commit();
    for (std::uint64_t i = 0; i < rounds; i++) {
        for (std::uint64_t page = 0; page < 195 - 40 * (i % 3); page++)
            program.poke(0, 100 + i + page * k_page_bytes, 1700); // less of each than what makes chunks move
        program.commit(i % 3 == 0 ? of_short : of_long);
        program.poke(0, 100 + 20000 * i, 40);
        program.commit(of_short);
    }
}

void die_and_go_on(session& program) {
    program.die();
    program.open();
    program.poke(0, 333, 20 * KiB);
    program.commit();
}

/// The log is restarted and reused over longer stale records.
void log_growth(session& program) {
    grow_log(program, 5, durability::durable, durability::durable);
    program.checkpoint();
    for (std::uint64_t i = 0; i < 3; i++) {
        program.poke(0, 77777 + i, 900 + 5000 * i);
        program.commit();
    }
    die_and_go_on(program);
}

/// Several commits share a write, some are in the page cache only, others in memory; and all that makes them durable.
void durabilities(session& program) {
    begin(program);
    program.add_block(3000);
    program.commit();
    for (std::uint64_t i = 0; i < 4; i++) {
        program.change_serial();
        program.commit(durability::none);
        program.poke(700);
        program.commit(durability::none);
        program.poke(10);
        program.commit(); // one write of three records
        program.change_serial();
        program.commit(durability::lazy);
        program.add_block(700);
        program.commit(durability::none);
        program.poke(1200);
        program.commit(durability::lazy); // one of two
        program.change_serial();
        program.commit(i % 2 == 0 ? durability::none : durability::durable);
        program.sync();
    }
    program.poke(30);
    program.commit(durability::lazy);
    program.die();
    program.open(); // it is still there
    program.poke(40);
    program.commit(durability::lazy);
    program.poke(40);
    program.commit(durability::none);
    program.poke(40);
    program.rollback();
    program.checkpoint();
    program.add_block(100 * KiB); // the chunks are durable before the record, which nobody waits for
    program.commit(durability::none);
    program.add_block(100 * KiB);
    program.commit(durability::lazy);
    program.poke(50);
    program.commit(durability::none);
    program.close();
    program.open();
    program.poke(9);
    program.commit(durability::lazy);
    program.poke(9);
    program.commit();
}

/// Likewise, in a log that grows by several segments before anything of them is durable.
void lazy_log_growth(session& program) {
    grow_log(program, 8, durability::lazy, durability::none);
    program.sync();
    program.checkpoint();
    for (std::uint64_t i = 0; i < 3; i++) { // over the records before
        program.poke(0, 77777 + i, 900 + 5000 * i);
        program.commit(durability::lazy);
        program.poke(0, 7777 + i, 90);
        program.commit(durability::none);
    }
    program.poke(0, 700, 9);
    program.commit(durability::lazy);
    die_and_go_on(program);
}

/// Commits that are waited for later, or never, among all other kinds.
void asynchronous(session& program) {
    begin(program);
    program.add_block(3000);
    program.commit();
    for (std::uint64_t i = 0; i < 4; i++) {
        program.change_serial();
        std::uint64_t first = program.commit_async();
        program.poke(700);
        std::uint64_t second = program.commit_async();
        program.poke(10);
        program.wait(first); // one write of two records
        program.rollback();
        program.wait(second);
        program.change_serial();
        program.commit(durability::lazy);
        program.poke(50);
        first = program.commit_async();
        program.add_block(700);
        program.commit(durability::none);
        program.poke(20);
        second = program.commit_async();
        if (i % 2 == 0)
            program.wait(second);
        program.poke(9);
        program.commit();
        program.wait(first);
    }
    program.poke(40);
    program.commit_async();
    program.sync();
    program.poke(40);
    program.commit_async();
    program.checkpoint();
    program.poke(40);
    program.commit_async();
    program.close();
    program.open();
    program.poke(40);
    program.commit_async();
    program.die(); // and nobody knows
    program.open();
    program.poke(40);
    program.commit_async();
}

/// Where others lay before, and left more than is written now.
void asynchronous_where_others_lay(session& program) {
    begin(program);
    for (int i = 0; i < 2; ++i) {
        program.add_block(300 * KiB);
        program.commit();
        program.remove_largest();
        program.commit();
        program.checkpoint(); // gives it back
        program.add_sparse_block(280 * KiB, 100 * KiB, 3000);
        program.wait(program.commit_async());
        program.poke(40);
        program.commit_async();
        program.die();
        program.open();
        program.verify();
        program.remove_largest();
        program.commit();
    }
}

/// Chunks at the end of the file, whose last pages are zeros.
void add_at_end(session& program) { program.add_sparse_block(150 * KiB, 70 * KiB, 100); }

/// The file becomes longer for what the log has, and nothing makes that durable.
void asynchronous_growth(session& program) {
    begin(program);
    for (int i = 0; i < 2; ++i) {
        add_at_end(program);
        program.commit(); // what was punched is durable
        add_at_end(program);
        program.commit_async();
        add_at_end(program);
        program.wait(program.commit_async());
        program.poke(40);
        program.commit();
        program.die();
        program.open();
        program.verify();
    }
    add_at_end(program);
    program.commit_async();
    program.checkpoint();
    program.close();
    program.open();
    program.verify();
}

/// Likewise, with memory that is committed for the first time, and changed before it is where it belongs.
void asynchronous_bulk(session& program) {
    begin(program);
    program.add_block(100 * KiB);
    const std::uint64_t first = program.commit_async();
    program.poke(0, 4096, 70 * KiB);
    const std::uint64_t second = program.commit_async();
    program.poke(64);
    program.add_block(200 * KiB);
    const std::uint64_t third = program.commit_async();
    program.wait(first);
    program.add_block(90 * KiB);
    program.wait(third);
    program.wait(second);
    program.rollback();
    program.add_block(90 * KiB);
    program.commit_async();
    program.poke(0, 4096, 60 * KiB);
    program.rollback();
    program.change_serial();
    program.commit_async();
    program.add_sparse_block(700 * KiB, 200 * KiB, 3000);
    program.commit_async();
    program.remove_largest();
    program.commit_async();
    program.verify();
    program.add_block(70 * KiB);
    program.commit_async();
    program.checkpoint();
    program.add_block(70 * KiB);
    program.commit_async();
    program.change_serial();
    program.commit(durability::lazy);
    program.add_block(70 * KiB);
    program.commit_async();
    program.change_serial();
    program.commit(durability::none);
    program.die();
    program.open();
    program.add_block(80 * KiB);
    program.commit_async();
    program.die();
    program.open();
    program.add_block(80 * KiB);
    program.commit_async();
    program.close();
    program.open();
    program.add_block(80 * KiB);
    program.wait(program.commit_async());
}

/// Commits that nobody waits for, with new memory, in a log that grows; they become durable beside what comes after them.
void synced_beside(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.change_serial();
    program.commit();
    for (std::uint64_t i = 0; i < 6; i++) {
        program.add_block(70 * KiB + 900 * i);
        program.commit(durability::lazy);
        program.poke(300);
        const std::uint64_t first = program.commit_async();
        program.add_block(66 * KiB);
        program.commit(durability::none);
        program.add_sparse_block(200 * KiB, 70 * KiB, 3000);
        program.commit(i % 3 == 1 ? durability::none : durability::lazy);
        program.poke(largest(program), 5000 + 4096 * i, 60);
        if (i % 3 == 0) {
            program.add_block(90 * KiB);
            program.wait(program.commit_async());
        }
        program.add_block(70 * KiB);
        program.commit(durability::lazy);
        if (i % 3 == 2)
            program.wait(first);
        for (std::uint64_t n = 0; n < 3 && i % 2 == 1; n++)
            program.remove_largest();
        program.change_serial();
        program.commit(durability::lazy);
    }
    program.die();
    program.open();
    program.add_block(80 * KiB);
    program.commit(durability::lazy);
    program.add_block(80 * KiB);
    program.commit_async();
    program.poke(9);
    program.rollback();
    program.close();
}

/// What makes lazy commits durable is cut short at each operation, and so are these.
void lazy_cut_short(session& program, session::cut how) {
    const auto commit_lazily = [&] {
        program.change_serial();
        program.commit(durability::lazy);
        program.poke(700);
        program.commit(durability::none);
        program.poke(20);
        program.commit(durability::lazy);
        program.change_serial();
        program.commit(durability::none);
    };
    begin(program);
    program.add_block(3000);
    program.commit();
    cut_at_each_operation(program, [&](std::uint64_t n) {
        commit_lazily();
        program.poke(30);
        return program.try_commit(n, how, durability::lazy);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        commit_lazily();
        program.poke(30);
        return program.try_commit(n, how);
    });
    // Of several records in one durable write.
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.change_serial();
        program.commit();
        program.change_serial();
        program.commit(durability::none);
        program.poke(900);
        program.commit(durability::none);
        return program.try_sync(n, how);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        commit_lazily();
        return program.try_sync(n, how);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        commit_lazily();
        return program.try_checkpoint(n, how);
    });
    commit_lazily();
    program.die();
    for (std::uint64_t n = 0; !program.try_open(n, how); n++) { // with several records that only the cache may have
    }
    cut_at_each_operation(program, [&](std::uint64_t n) {
        commit_lazily();
        return program.try_close(n, how);
    });
    program.open();
    program.change_anything();
    program.commit();
}

/// Asynchronous commits, and what makes them durable, are cut short at each operation.
void asynchronous_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(3000);
    program.commit();
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.add_block(70 * KiB);
        return program.try_commit_async(n, how);
    });
    program.sync();
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.change_serial();
        program.commit_async();
        program.add_block(70 * KiB);
        const std::uint64_t version = program.commit_async();
        program.poke(900);
        program.commit(durability::none);
        return program.try_wait(n, how, version);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.add_block(70 * KiB);
        program.commit_async();
        program.poke(2, 100, 9000);
        return program.try_commit(n, how, durability::lazy);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.add_block(70 * KiB);
        program.commit_async();
        return program.try_close(n, how);
    });
    program.open();
    program.change_anything();
    program.commit();
}

/// The checkpoint after asynchronous commits that made the file longer is cut short at each operation: when its sync fails the file
/// stays so in the page cache, and what recovery makes of the log relies on it.
void asynchronous_growth_cut_short(session& program, session::cut how) {
    begin(program);
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            add_at_end(program);
            program.commit(); // what was punched is durable
            add_at_end(program);
            program.wait(program.commit_async());
            return program.try_checkpoint(n, how);
        },
        [&] { // the next attempt does the same operations
            program.remove_largest();
            program.remove_largest();
            program.commit();
            program.checkpoint();
        });
}

/// Each time that the heap is opened its log is to lie elsewhere: in one of two directories, or beside the heap.
open_function engine_with_moving_log(std::uint64_t log_limit_bytes) {
    return [log_limit_bytes](os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        txn::engine_options options = small_heap_options();
        options.log_limit_bytes = log_limit_bytes;
        options.log_directory = "/a";
        if (auto file = files.open(path, os::access::read_only)) {
            auto size = (*file)->size();
            if (!size)
                return size.error();
            if (const auto current = remanence::store::read_superblocks(**file, *size))
                options.log_directory = std::array{"/a", "/b", ""}[current->super.sequence % 3];
        }
        return engine(options)(files, path);
    };
}

void opened_and_closed(session& program) {
    begin(program);
    for (std::uint64_t i = 0; i < 7; i++) {
        program.add_block(100 + 40'000 * (i % 2));
        program.commit();
        program.poke(3 + i);
        program.commit();
        if (i % 3 == 2)
            program.die();
        else
            program.close();
        program.open();
    }
    program.poke(3);
    program.commit();
    program.verify();
}

} // namespace

std::vector<workload> durability_workloads() {
    return {
        {.name = "moving_log",
         .open = engine_with_moving_log(k_roomy),
         .phases = {opened_and_closed},
         .cuts_short = true}, // a real disk has no such directories
        {.name = "moving_log_tight",
         .open = engine_with_moving_log(k_tight),
         .phases = {opened_and_closed},
         .cuts_short = true},
        {.name = "log_growth", .open = engine_with(4 * MiB), .phases = {log_growth}},
        {.name = "background_log_growth", .open = background_engine(600 * KiB), .phases = {log_growth}},
        {.name = "lazy_log_growth", .open = engine_with(8 * MiB), .phases = {lazy_log_growth}, .cost = 2},
        {.name = "durabilities", .open = engine_with(k_roomy), .phases = {durabilities}},
        {.name = "declared_durabilities", .open = engine_with(k_roomy, sections::declared), .phases = {durabilities}},
        {.name = "background_durabilities", .open = background_engine(4 * KiB), .phases = {durabilities}},
        {.name = "durabilities_without_durable_writes",
         .open = engine_with(k_tight),
         .phases = {durabilities},
         .durable_writes = false},
        killed("killed_lazy", engine_with(k_roomy), lazy_cut_short),
        failing("failing_lazy_xfs", engine_with(k_roomy), lazy_cut_short, simulation::failed_sync::xfs),
        failing("failing_lazy_btrfs", engine_with(k_roomy), lazy_cut_short, simulation::failed_sync::btrfs),
        {.name = "asynchronous", .open = engine_with(k_roomy), .phases = {asynchronous}},
        {.name = "asynchronous_with_checkpoints", .open = engine_with(k_tight), .phases = {asynchronous}},
        {.name = "background_asynchronous", .open = background_engine(4 * KiB), .phases = {asynchronous}},
        {.name = "asynchronous_without_durable_writes",
         .open = engine_with(k_roomy),
         .phases = {asynchronous},
         .durable_writes = false},
        {.name = "asynchronous_bulk", .open = engine_with(k_roomy), .phases = {asynchronous_bulk}},
        {.name = "asynchronous_where_others_lay",
         .open = engine_with(k_roomy),
         .phases = {asynchronous_where_others_lay}},
        {.name = "asynchronous_growth", .open = engine_with(k_roomy), .phases = {asynchronous_growth}},
        {.name = "declared_asynchronous_bulk",
         .open = engine_with(k_roomy, sections::declared),
         .phases = {asynchronous_bulk}},
        {.name = "background_synced",
         .open = background_engine(k_roomy),
         .phases = {synced_beside, synced_beside, synced_beside}, // each run has other moments
         .cost = 2},
        {.name = "background_synced_without_durable_writes",
         .open = background_engine(k_roomy),
         .phases = {synced_beside},
         .durable_writes = false,
         .cost = 4},
        killed("background_killed_asynchronous", background_engine(k_roomy), asynchronous_cut_short, 4),
        failing("background_failing_asynchronous", background_engine(k_roomy), asynchronous_cut_short,
                simulation::failed_sync::xfs, 4),
        failing("background_failing_lazy", background_engine(k_tight), lazy_cut_short, simulation::failed_sync::xfs, 4),
        {.name = "background_asynchronous_bulk", .open = background_engine(k_tight), .phases = {asynchronous_bulk}},
        killed("killed_asynchronous", engine_with(k_roomy), asynchronous_cut_short),
        failing("failing_asynchronous_xfs", engine_with(k_roomy), asynchronous_cut_short, simulation::failed_sync::xfs),
        killed("killed_asynchronous_growth", engine_with(k_roomy), asynchronous_growth_cut_short),
        failing("failing_asynchronous_growth_xfs", engine_with(k_roomy), asynchronous_growth_cut_short,
                simulation::failed_sync::xfs),
        failing("failing_asynchronous_growth_btrfs", engine_with(k_roomy), asynchronous_growth_cut_short,
                simulation::failed_sync::btrfs),
    };
}

} // namespace remanence::crash
