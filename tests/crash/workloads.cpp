#include "workloads.hpp"

#include "copied_store.hpp"
#include "engine_store.hpp"

#include <algorithm>

namespace remanence::crash {

namespace {

using log::durability;

open_function engine_with(std::uint64_t log_limit_bytes, sections kind = sections::ordinary) {
    auto options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    return engine(options, kind);
}

open_function background_engine(std::uint64_t log_limit_bytes, sections kind = sections::ordinary) {
    auto options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    return engine(options, kind, checkpointing::in_background);
}

std::size_t largest(session& program) {
    const auto& all = program.current().blocks();
    const auto found =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    return static_cast<std::size_t>(found - all.begin());
}

void begin(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.commit();
}

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
    program.checkpoint(); // with nothing to fold
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

/// Records of many sizes, more than a log segment together. Every third of the long ones is as durable as short ones are.
void grow_log(session& program, std::uint64_t rounds, durability of_long, durability of_short) {
    begin(program);
    program.add_block(800 * KiB);
    program.commit();
    for (std::uint64_t i = 0; i < rounds; i++) {
        program.poke(0, 5000 + i, 330 * KiB - 70 * KiB * (i % 3));
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

/// Checkpoints and closings that give chunks back end at each of their operations.
void given_back_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(30 * KiB);
    program.commit();
    const auto leave_unused = [&] {
        program.add_block(300 * KiB);
        program.commit();
        program.remove_largest();
        program.commit();
    };
    for (std::uint64_t n = 0;; n++) {
        leave_unused();
        if (program.try_checkpoint(n, how))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        leave_unused();
        if (program.try_close(n, how))
            break;
        program.open();
    }
    program.open();
    program.add_block(250 * KiB);
    program.commit();
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
    for (std::uint64_t n = 0;; n++) {
        commit_some();
        if (program.try_checkpoint(n, how))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        commit_some();
        if (program.try_close(n, how))
            break;
        program.open();
    }
    program.open();
    program.change_anything();
    program.commit();
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

/// Each thing that a program does is cut short at its first operation, at its second, and so on until it succeeds; each
/// time the heap is opened again at once, from what the page cache holds rather than the medium.
void cut_short(session& program, session::cut how) {
    for (std::uint64_t n = 0; !program.try_open(n, how); n++) {
    }
    for (std::uint64_t n = 0;; n++) { // the first commit of a session begins the log
        program.change_anything();
        if (program.try_commit(n, how))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        program.change_serial();
        if (program.try_commit(n, how))
            break;
        program.open();
        program.change_anything();
        program.commit();
    }
    // With an empty log, which could not repair what the record changes. Always the same page, so that each commit is made
    // of the same operations and none of them is skipped.
    for (std::uint64_t n = 0;; n++) {
        program.checkpoint();
        program.change_serial();
        if (program.try_commit(n, how))
            break;
        program.open();
        program.change_serial();
        program.commit();
    }
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
    for (std::uint64_t n = 0;; n++) {
        commit_lazily();
        program.poke(30);
        if (program.try_commit(n, how, durability::lazy))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        commit_lazily();
        program.poke(30);
        if (program.try_commit(n, how))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) { // of several records in one durable write
        program.change_serial();
        program.commit();
        program.change_serial();
        program.commit(durability::none);
        program.poke(900);
        program.commit(durability::none);
        if (program.try_sync(n, how))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        commit_lazily();
        if (program.try_sync(n, how))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        commit_lazily();
        if (program.try_checkpoint(n, how))
            break;
        program.open();
    }
    commit_lazily();
    program.die();
    for (std::uint64_t n = 0; !program.try_open(n, how); n++) { // with several records that only the cache may have
    }
    for (std::uint64_t n = 0;; n++) {
        commit_lazily();
        if (program.try_close(n, how))
            break;
        program.open();
    }
    program.open();
    program.change_anything();
    program.commit();
}

/// Asynchronous commits, and what makes them durable, are cut short at each operation.
void asynchronous_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(3000);
    program.commit();
    for (std::uint64_t n = 0;; n++) {
        program.add_block(70 * KiB);
        if (program.try_commit_async(n, how))
            break;
        program.open();
    }
    program.sync();
    for (std::uint64_t n = 0;; n++) {
        program.change_serial();
        program.commit_async();
        program.add_block(70 * KiB);
        const std::uint64_t version = program.commit_async();
        program.poke(900);
        program.commit(durability::none);
        if (program.try_wait(n, how, version))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        program.add_block(70 * KiB);
        program.commit_async();
        program.poke(2, 100, 9000);
        if (program.try_commit(n, how, durability::lazy))
            break;
        program.open();
    }
    for (std::uint64_t n = 0;; n++) {
        program.add_block(70 * KiB);
        program.commit_async();
        if (program.try_close(n, how))
            break;
        program.open();
    }
    program.open();
    program.change_anything();
    program.commit();
}

/// Commits of fresh chunks are cut short at each operation; where they left bytes in the file, most pages of the next
/// commit are zeros.
void debris(session& program) {
    begin(program);
    for (std::uint64_t n = 0;; n++) {
        program.add_block(150 * KiB);
        if (program.try_commit(n, session::cut::death))
            break;
        program.open();
        program.add_sparse_block(150 * KiB, 40 * KiB, 100); // something in each chunk: else it would be skipped
        program.commit();
        program.close();
        program.open(); // and reads them from the file
    }
}

/// Likewise, where chunks between others were skipped so far.
void debris_in_gaps(session& program) {
    begin(program);
    program.add_sparse_block(6 * MiB, 2 * MiB, 100);
    program.commit();
    for (std::uint64_t n = 0;; n++) {
        const std::uint64_t gap = (n + 1) * 64 * KiB + 8 * KiB;
        program.poke(0, gap, 50 * KiB);
        if (program.try_commit(n, session::cut::death))
            break;
        program.open();
        program.poke(0, gap, 100);
        program.commit();
        program.close();
        program.open();
    }
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

void killed_asynchronous(session& program) { asynchronous_cut_short(program, session::cut::death); }
void failing_asynchronous(session& program) { asynchronous_cut_short(program, session::cut::failure); }
void killed_lazy(session& program) { lazy_cut_short(program, session::cut::death); }
void failing_lazy(session& program) { lazy_cut_short(program, session::cut::failure); }
void killed_beside_checkpoints(session& program) { beside_checkpoints_cut_short(program, session::cut::death); }
void failing_beside_checkpoints(session& program) { beside_checkpoints_cut_short(program, session::cut::failure); }
void killed_giving_back(session& program) { given_back_cut_short(program, session::cut::death); }
void failing_giving_back(session& program) { given_back_cut_short(program, session::cut::failure); }
void killed(session& program) { cut_short(program, session::cut::death); }
void failing_device(session& program) { cut_short(program, session::cut::failure); }

/// Commits that make the file longer fail at each operation; what they have written there, and how long the file is, may be
/// lost although the next commits, which find it in the page cache, succeed.
void failing_growth(session& program) {
    begin(program);
    for (std::uint64_t n = 0;; n++) {
        program.add_sparse_block(150 * KiB, 70 * KiB, 100); // chunks whose last pages are zeros
        if (program.try_commit(n, session::cut::failure))
            break;
        program.open();
        program.add_sparse_block(150 * KiB, 70 * KiB, 100);
        program.commit();
    }
}

} // namespace

std::vector<workload> engine_workloads() {
    constexpr std::uint64_t k_roomy = 1 * MiB;
    constexpr std::uint64_t k_tight = 12 * KiB; // a checkpoint every few commits
    return {
        {.name = "create", .open = engine_with(k_roomy), .phases = {create}},
        {.name = "small_commits", .open = engine_with(k_roomy), .phases = {small_commits}},
        {.name = "bulk_commits", .open = engine_with(k_roomy), .phases = {bulk_commits}},
        {.name = "declared_small_commits", .open = engine_with(k_roomy, sections::declared), .phases = {small_commits}},
        {.name = "declared_bulk_commits", .open = engine_with(k_roomy, sections::declared), .phases = {bulk_commits}},
        {.name = "declared_checkpoints", .open = engine_with(k_tight, sections::declared), .phases = {checkpoints}},
        {.name = "declared_free_and_reuse",
         .open = engine_with(k_roomy, sections::declared),
         .phases = {free_and_reuse}},
        {.name = "declared_durabilities", .open = engine_with(k_roomy, sections::declared), .phases = {durabilities}},
        {.name = "growth", .open = engine_with(k_roomy), .phases = {growth}, .cost = 5},
        {.name = "checkpoints", .open = engine_with(k_tight), .phases = {checkpoints}},
        {.name = "without_durable_writes",
         .open = engine_with(k_tight),
         .phases = {checkpoints},
         .durable_writes = false},
        {.name = "log_growth", .open = engine_with(4 * MiB), .phases = {log_growth}},
        {.name = "durabilities", .open = engine_with(k_roomy), .phases = {durabilities}},
        {.name = "durabilities_without_durable_writes",
         .open = engine_with(k_tight),
         .phases = {durabilities},
         .durable_writes = false},
        {.name = "lazy_log_growth", .open = engine_with(8 * MiB), .phases = {lazy_log_growth}, .cost = 2},
        {.name = "asynchronous", .open = engine_with(k_roomy), .phases = {asynchronous}},
        {.name = "asynchronous_with_checkpoints", .open = engine_with(k_tight), .phases = {asynchronous}},
        {.name = "asynchronous_without_durable_writes",
         .open = engine_with(k_roomy),
         .phases = {asynchronous},
         .durable_writes = false},
        {.name = "asynchronous_bulk", .open = engine_with(k_roomy), .phases = {asynchronous_bulk}},
        {.name = "declared_asynchronous_bulk",
         .open = engine_with(k_roomy, sections::declared),
         .phases = {asynchronous_bulk}},
        {.name = "killed_asynchronous",
         .open = engine_with(k_roomy),
         .phases = {killed_asynchronous},
         .cuts_short = true},
        {.name = "failing_asynchronous_xfs",
         .open = engine_with(k_roomy),
         .phases = {failing_asynchronous},
         .after_failed_sync = os::failed_sync::xfs,
         .cuts_short = true},
        {.name = "killed_lazy", .open = engine_with(k_roomy), .phases = {killed_lazy}, .cuts_short = true},
        {.name = "failing_lazy_xfs",
         .open = engine_with(k_roomy),
         .phases = {failing_lazy},
         .after_failed_sync = os::failed_sync::xfs,
         .cuts_short = true},
        {.name = "failing_lazy_btrfs",
         .open = engine_with(k_roomy),
         .phases = {failing_lazy},
         .after_failed_sync = os::failed_sync::btrfs,
         .cuts_short = true},
        {.name = "free_and_reuse", .open = engine_with(k_roomy), .phases = {free_and_reuse}},
        {.name = "given_back", .open = engine_with(k_roomy), .phases = {given_back}},
        {.name = "declared_given_back", .open = engine_with(k_tight, sections::declared), .phases = {given_back}},
        {.name = "killed_giving_back",
         .open = engine_with(k_roomy),
         .phases = {killed_giving_back},
         .cuts_short = true},
        {.name = "failing_giving_back_ext4",
         .open = engine_with(k_roomy),
         .phases = {failing_giving_back},
         .after_failed_sync = os::failed_sync::ext4,
         .cuts_short = true},
        {.name = "failing_giving_back_btrfs",
         .open = engine_with(k_roomy),
         .phases = {failing_giving_back},
         .after_failed_sync = os::failed_sync::btrfs,
         .cuts_short = true},
        {.name = "background_given_back", .open = background_engine(k_tight), .phases = {given_back}},
        {.name = "many_skipped_chunks", .open = engine_with(k_roomy), .phases = {many_skipped_chunks}, .cost = 4},
        {.name = "free_what_was_changed", .open = engine_with(k_roomy), .phases = {free_what_was_changed}},
        {.name = "killed", .open = engine_with(k_roomy), .phases = {killed}, .cuts_short = true},
        {.name = "debris", .open = engine_with(k_roomy), .phases = {debris}, .cuts_short = true, .cost = 5},
        {.name = "debris_in_gaps",
         .open = engine_with(k_roomy),
         .phases = {debris_in_gaps},
         .cuts_short = true,
         .cost = 5},
        {.name = "copied", .open = copied_engine(small_heap_options()), .phases = {copied}},
        {.name = "replaced", .open = replaced_engine(small_heap_options()), .phases = {copied}},
        {.name = "removed_roots", .open = engine_with(k_roomy), .phases = {removed_roots}},
        {.name = "failing_device_ext4",
         .open = engine_with(k_roomy),
         .phases = {failing_device},
         .after_failed_sync = os::failed_sync::ext4,
         .cuts_short = true},
        {.name = "failing_device_xfs",
         .open = engine_with(k_roomy),
         .phases = {failing_device},
         .after_failed_sync = os::failed_sync::xfs,
         .cuts_short = true},
        {.name = "failing_device_btrfs",
         .open = engine_with(k_roomy),
         .phases = {failing_device},
         .after_failed_sync = os::failed_sync::btrfs,
         .cuts_short = true},
        {.name = "failing_growth_ext4",
         .open = engine_with(k_roomy),
         .phases = {failing_growth},
         .after_failed_sync = os::failed_sync::ext4,
         .cuts_short = true,
         .cost = 5},
        {.name = "failing_growth_xfs",
         .open = engine_with(k_roomy),
         .phases = {failing_growth},
         .after_failed_sync = os::failed_sync::xfs,
         .cuts_short = true,
         .cost = 5},
        {.name = "failing_growth_btrfs",
         .open = engine_with(k_roomy),
         .phases = {failing_growth},
         .after_failed_sync = os::failed_sync::btrfs,
         .cuts_short = true,
         .cost = 5},
        {.name = "background", .open = background_engine(k_tight), .phases = {beside_checkpoints}},
        {.name = "background_declared",
         .open = background_engine(k_tight, sections::declared),
         .phases = {beside_checkpoints}},
        {.name = "background_without_durable_writes",
         .open = background_engine(k_tight),
         .phases = {beside_checkpoints},
         .durable_writes = false},
        {.name = "background_checkpoints", .open = background_engine(4 * KiB), .phases = {checkpoints}},
        {.name = "background_bulk", .open = background_engine(100 * KiB), .phases = {bulk_commits}},
        {.name = "background_growth", .open = background_engine(k_tight), .phases = {growth}, .cost = 5},
        {.name = "background_log_growth", .open = background_engine(600 * KiB), .phases = {log_growth}},
        {.name = "background_free_and_reuse", .open = background_engine(k_tight), .phases = {free_and_reuse}},
        {.name = "background_skipped_chunks",
         .open = background_engine(2 * KiB),
         .phases = {many_skipped_chunks},
         .cost = 4},
        {.name = "background_durabilities", .open = background_engine(4 * KiB), .phases = {durabilities}},
        {.name = "background_asynchronous", .open = background_engine(4 * KiB), .phases = {asynchronous}},
        {.name = "background_asynchronous_bulk", .open = background_engine(k_tight), .phases = {asynchronous_bulk}},
        {.name = "background_killed",
         .open = background_engine(4 * KiB),
         .phases = {killed_beside_checkpoints},
         .cuts_short = true},
        {.name = "background_failing_ext4",
         .open = background_engine(4 * KiB),
         .phases = {failing_beside_checkpoints},
         .after_failed_sync = os::failed_sync::ext4,
         .cuts_short = true},
        {.name = "background_failing_xfs",
         .open = background_engine(4 * KiB),
         .phases = {failing_beside_checkpoints},
         .after_failed_sync = os::failed_sync::xfs,
         .cuts_short = true},
        {.name = "background_failing_btrfs",
         .open = background_engine(4 * KiB),
         .phases = {failing_beside_checkpoints},
         .after_failed_sync = os::failed_sync::btrfs,
         .cuts_short = true},
        {.name = "background_crash_and_go_on",
         .open = background_engine(4 * KiB),
         .phases = {go_on, go_on, go_on_and_close},
         .restarts = 2},
        {.name = "crash_and_go_on",
         .open = engine_with(k_tight),
         .phases = {go_on, go_on, go_on_and_close},
         .restarts = 2},
    };
}

} // namespace remanence::crash
