// Commits that are undone and redone. Each undo is a commit of its own, so a power loss leaves what was before it or what is after.
#include "shared_store.hpp"
#include "workload_parts.hpp"

namespace remanence::crash {

namespace {

void undo_and_redo(session& program) {
    begin(program);
    for (std::uint64_t i = 0; i < 4; i++) {
        program.add_block(40 + 333 * i);
        program.commit();
        program.poke(1 + 5 * i);
        program.change_serial();
        program.commit();
        program.undo();
        program.redo();
        program.undo(2);
        program.add_block(5000); // a branch
        program.poke(16);
        program.commit();
        program.poke(8);
        program.rollback();
        program.undo();
        program.redo();
    }
    program.verify();
    program.die();
    program.open();
    program.poke(3);
    program.commit();
    program.undo();
    program.close();
    program.open();
    program.poke(9);
    program.commit();
}

/// Chunks that are committed first, that move, and that are free after the undo.
void undo_of_bulk(session& program) {
    begin(program);
    program.add_block(100 * KiB);
    program.commit();
    program.add_block(300 * KiB);
    program.add_block(30);
    program.commit();
    program.undo();
    program.redo();
    program.poke(1, 4096, 200 * KiB); // dense, in chunks that are stored
    program.poke(64);
    program.commit();
    program.checkpoint();
    program.undo();
    program.undo();
    program.checkpoint(); // nothing is given back
    program.redo(2);
    program.remove_largest();
    program.commit();
    program.undo();
    program.verify();
    program.undo(2);
    program.close();
    program.open();
    program.add_block(200 * KiB);
    program.commit();
    program.undo();
    program.change_serial();
    program.commit();
}

/// Also on what a power loss left.
void undo_of_groups(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.change_serial();
    program.commit();
    for (std::uint64_t i = 0; i < 3; i++) {
        program.begin_group();
        program.add_block(70 + 3000 * i);
        program.commit();
        program.poke(20);
        program.commit();
        program.remove_block(0);
        program.change_serial();
        program.commit();
        program.end_group();
        program.change_serial();
        program.commit();
        program.undo(2);
        program.redo();
        program.checkpoint();
        program.redo();
    }
    program.undo(6);
    program.verify();
    program.redo(6);
    program.verify();
}

void undo_cut_short(session& program, session::cut how) {
    begin(program);
    const auto prepare = [&] {
        program.change_serial();
        program.commit();
        program.add_block(3000);
        program.commit();
    };
    prepare();
    cut_at_each_operation(program, [&](std::uint64_t n) { return program.try_undo(n, how); }, prepare);
    cut_at_each_operation(
        program, [&](std::uint64_t n) { return program.try_redo(n, how); },
        [&] {
            prepare();
            program.undo();
        });
    // In the first chunk, and with an empty log.
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            program.checkpoint();
            return program.try_undo(n, how);
        },
        prepare);
    program.die();
    program.open();
    program.verify();
}

void undo_on_full_disk(session& program) {
    begin(program);
    for (std::uint64_t n = 0;; n++) {
        if (program.is_dead())
            program.open();
        program.add_block(90 * KiB);
        program.commit();
        program.poke(0, 100, 80 * KiB);
        program.commit();
        if (program.undo_on_full_disk(n))
            break;
        if (program.is_dead())
            continue;
        program.change_serial(); // the heap works on
        program.commit();
        program.undo(2);
    }
    program.verify();
}

/// Whose history goes on in other sessions, closed and killed, also on what a power loss left.
void kept_history(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.change_serial();
    program.commit();
    for (std::uint64_t i = 0; i < 4; i++) {
        program.add_block(60 + 700 * i);
        program.commit();
        program.poke(12);
        program.commit();
        program.undo();
        if (i % 2 == 0)
            program.checkpoint();
        program.change_serial(); // a branch
        program.commit();
        program.undo();
        program.redo();
        if (i % 2 == 0)
            program.die();
        else
            program.close();
        program.open();
        program.begin_group();
        program.poke(20);
        program.commit();
        program.change_serial();
        program.commit();
        program.end_group();
        program.undo(2);
    }
    program.verify();
    program.checkpoint();
    program.redo(2);
    program.close();
    program.open();
    program.change_serial();
    program.commit();
}

/// Commits of sessions that do not ask for the steps of those before, and of some that do.
void unread_history(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.change_serial();
    program.commit();
    for (std::uint64_t i = 0; i < 5; i++) {
        program.add_block(60 + 700 * i);
        program.commit();
        program.close();
        program.open();
        program.change_serial();
        program.commit();
        program.begin_group();
        program.poke(12);
        program.commit();
        if (i % 2 == 0)
            program.checkpoint();
        program.change_serial();
        program.commit();
        program.end_group();
        if (i == 3)
            program.undo(2);
        if (i % 2 == 0)
            program.close();
        else
            program.die();
        program.open();
        program.change_serial();
        program.commit();
    }
    program.undo(4);
    program.redo(2);
    program.verify();
    program.close();
    program.open();
    program.redo();
    program.close();
}

void kept_history_of_bulk(session& program) {
    begin(program);
    program.add_block(100 * KiB);
    program.commit();
    program.add_block(300 * KiB);
    program.commit();
    program.undo();
    program.die();
    program.open();
    program.redo();
    program.poke(1, 4096, 90 * KiB); // dense, in chunks that are stored
    program.commit();
    program.checkpoint();
    program.remove_largest();
    program.commit();
    program.close(); // nothing is given back
    program.open();
    program.undo();
    program.undo(2);
    program.die();
    program.open();
    program.redo(3);
    program.verify();
}

void kept_history_cut_short(session& program, session::cut how) {
    begin(program);
    const auto prepare = [&] {
        program.change_serial();
        program.commit();
        program.add_block(3000);
        program.commit();
    };
    prepare();
    cut_at_each_operation(program, [&](std::uint64_t n) { return program.try_undo(n, how); }, prepare);
    cut_at_each_operation(program, [&](std::uint64_t n) { return program.try_checkpoint(n, how); }, prepare);
    cut_at_each_operation(program, [&](std::uint64_t n) { return program.try_close(n, how); }, prepare);
    program.open();
    cut_at_each_operation(program, [&](std::uint64_t n) {
        program.change_serial();
        return program.try_commit(n, how);
    });
    program.die();
    program.open();
    program.verify();
}

/// Versions that are kept while their steps go, restored and dropped, and steps that become one.
void kept_versions(session& program) {
    begin(program);
    program.add_block(300);
    program.commit();
    program.keep("first");
    for (std::uint64_t i = 0; i < 8; i++) {
        program.add_block(40 + 333 * i);
        program.poke(60);
        program.commit();
    }
    program.keep("second");
    program.change_serial();
    program.commit();
    program.restore("first");
    program.verify();
    program.add_block(70 * KiB); // a branch
    program.commit();
    program.checkpoint();
    program.restore("second");
    program.drop("first");
    for (std::uint64_t i = 0; i < 3; i++) {
        program.change_serial();
        program.commit();
    }
    program.squash(3);
    program.undo();
    program.redo();
    program.restore("second");
    program.remove_block(0);
    program.commit();
    program.verify();
}

/// Also on what a power loss left.
void branches(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.change_serial();
    program.commit();
    program.add_block(3000);
    program.commit();
    program.keep("old");
    program.add_block(100 * KiB);
    program.poke(16);
    program.commit();
    program.keep("new");
    program.change_serial();
    program.commit();
    for (const char* name : {"old", "new"}) {
        if (!program.has_branch(name))
            program.branch(name);
        program.change_serial();
        program.commit();
    }
    program.checkpoint();
    program.keep("present"); // of which nothing has to be committed in the copy
    if (!program.has_branch("present"))
        program.branch("present");
    program.close();
}

/// Files of text that are written as a whole, as exports and containers in other forms are, also on what a power loss left. Each is
/// shorter than all before it.
void texts(session& program) {
    program.open();
    for (int i = 0; i != 3; ++i) {
        if (!program.current().has_root())
            program.add_root();
        program.change_serial();
        program.commit();
        const std::uint64_t version = program.opened().version();
        const std::string text(std::max<std::uint64_t>(100, 20'000 - std::min<std::uint64_t>(version * 300, 20'000)),
                               static_cast<char>('a' + version % 26));
        program.write_text("replaced", text, true);
        program.write_text("new" + std::to_string(version), text, false);
    }
    program.close();
}

/// Versions that are kept over sessions, also on what a power loss left.
void versions_over_sessions(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.change_serial();
    program.commit();
    std::vector<std::string> names; // which no session before has given
    for (std::uint64_t i = 0; i < 4; i++) {
        names.push_back(std::to_string(program.opened().version()));
        const std::string name = names.back();
        program.keep(name);
        program.add_block(60 + 700 * i);
        program.commit();
        program.poke(12);
        program.commit();
        program.change_serial();
        program.commit();
        program.squash(2);
        if (i % 2 == 0)
            program.checkpoint();
        program.undo();
        program.redo();
        if (i % 2 == 0)
            program.die();
        else
            program.close();
        program.open();
        program.restore(name);
        program.change_serial();
        program.commit();
    }
    program.drop(names[1]);
    program.restore(names[2]);
    program.close();
    program.open();
    program.restore(names[0]);
    program.verify();
}

/// Versions that are kept from before a migration, across which nothing but restoring them leads.
void versions_across_migration(session& program) {
    begin(program);
    program.add_block(300);
    program.commit();
    program.keep("old");
    program.change_serial();
    program.commit();
    program.add_block(9000);
    program.poke(40);
    program.commit_migration();
    program.change_serial();
    program.commit();
    program.undo();
    program.redo();
    program.keep("new");
    program.die();
    program.open();
    program.restore("old");
    program.change_serial(); // a branch of the old types
    program.commit();
    program.undo();
    program.close();
    program.open();
    program.restore("new");
    program.undo();
    program.checkpoint();
    program.restore("old");
    program.drop("new");
    program.add_block(70 * KiB);
    program.commit_migration(); // another one
    program.verify();
}

void changes_of_history_cut_short(session& program, session::cut how) {
    begin(program);
    std::uint64_t count = 0;
    const auto prepare = [&] {
        program.change_serial();
        program.commit();
        program.add_block(300);
        program.commit();
    };
    prepare();
    cut_at_each_operation(
        program, [&](std::uint64_t n) { return program.try_keep(n, how, "k" + std::to_string(count)); },
        [&] { prepare(), ++count; });
    prepare();
    cut_at_each_operation(program, [&](std::uint64_t n) { return program.try_squash(n, how, 2); }, prepare);
    cut_at_each_operation(
        program,
        [&](std::uint64_t n) {
            const std::string name = "d" + std::to_string(count++);
            program.keep(name);
            return program.try_drop(n, how, name);
        },
        prepare);
    program.verify();
}

void restore_cut_short(session& program, session::cut how) {
    begin(program);
    const auto prepare = [&] {
        program.change_serial();
        program.commit();
        program.keep("here");
        program.add_block(3000);
        program.commit();
    };
    prepare();
    cut_at_each_operation(program, [&](std::uint64_t n) { return program.try_restore(n, how, "here"); }, prepare);
    program.verify();
}

void branch_cut_short(session& program, session::cut how) {
    begin(program);
    const auto attempt = [&](std::uint64_t n) {
        std::string name = "here";
        while (program.has_branch(name)) // one that was cut short at its end
            name += 'x';
        program.change_serial();
        program.commit();
        program.keep(name);
        program.add_block(3000);
        program.commit();
        return program.try_branch(n, how, name);
    };
    cut_at_each_operation(program, attempt);
    program.verify();
}

void text_cut_short(session& program, session::cut how) {
    begin(program);
    std::size_t bytes = 20'000;
    cut_at_each_operation(program, [&](std::uint64_t n) {
        bytes -= 500;
        return program.try_text(n, how, "replaced", std::string(bytes, static_cast<char>('a' + bytes / 500 % 26)));
    });
    program.verify();
}

/// Steps that are held as calls; over sessions, too, if the history is.
void undo_of_calls(session& program, bool is_kept) {
    begin(program);
    program.add_block(9000);
    program.commit();
    for (std::uint64_t i = 0; i < 3; i++) {
        program.poke(24);
        program.commit();
        program.flip(4000 + 100 * i);
        program.change_serial();
        program.commit();
        program.undo(2); // over the call alone, and a step after it
        program.redo();
        program.undo(2);
        program.redo(3);
        program.begin_group();
        program.poke(16);
        program.commit();
        program.flip(300);
        program.end_group();
        program.undo();
        if (i == 1)
            program.checkpoint();
        if (is_kept && i == 0)
            program.close();
        else if (is_kept)
            program.die();
        if (is_kept)
            program.open();
        program.redo();
        program.flip(5000); // in several pages
        program.squash(2);
        program.undo();
        program.change_serial(); // a branch
        program.commit();
    }
    program.keep("kept"); // from here on bytes are held
    program.flip(2000);
    program.restore("kept");
    program.redo();
    program.verify();
}

void undo_of_calls_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(9000);
    program.commit();
    const auto prepare = [&] {
        program.change_serial();
        program.commit();
        program.flip(4500);
        program.change_serial();
        program.commit();
    };
    prepare();
    cut_at_each_operation(program, [&](std::uint64_t n) { return program.try_undo(n, how, 3); }, prepare);
    cut_at_each_operation(
        program, [&](std::uint64_t n) { return program.try_redo(n, how, 2); },
        [&] {
            prepare();
            program.undo(2);
        });
    program.verify();
}

open_function shared_with_history(std::uint64_t log_limit_bytes, std::uint64_t steps_max = 1000) {
    txn::engine_options options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    options.log_bytes_max = k_roomy;
    options.history = {.steps_max = steps_max};
    options.history_kept = true;
    options.history_rewritten_from = 16 * KiB;
    return shared_engines(options);
}

} // namespace

// As many steps as limits leave are a matter of the engines; that both have the same ones, of shared_store.
std::vector<workload> shared_undo_workloads() {
    return {
        {.name = "shared_history",
         .open = shared_with_history(k_tight),
         .phases = {kept_history, kept_history},
         .cost = 4},
        {.name = "shared_history_of_bulk",
         .open = shared_with_history(k_roomy),
         .phases = {kept_history_of_bulk},
         .cost = 4},
        {.name = "shared_history_of_few_steps",
         .open = shared_with_history(k_tight, 4),
         .phases = {kept_history},
         .cost = 4},
        {.name = "shared_versions",
         .open = shared_with_history(k_tight),
         .phases = {versions_over_sessions},
         .cost = 4},
        {.name = "shared_versions_of_few_steps",
         .open = shared_with_history(k_tight, 3),
         .phases = {versions_over_sessions},
         .cost = 4},
        {.name = "shared_versions_across_migration",
         .open = shared_with_history(k_tight),
         .phases = {versions_across_migration},
         .cost = 4},
        killed("shared_history_killed", shared_with_history(k_roomy), kept_history_cut_short, 8),
        failing("shared_history_failing", shared_with_history(k_roomy), kept_history_cut_short,
                simulation::failed_sync::xfs, 8),
        killed("shared_changes_of_history_killed", shared_with_history(k_roomy), changes_of_history_cut_short, 8),
    };
}

std::vector<workload> undo_workloads() {
    return {
        {.name = "undo", .open = engine_with_history(k_roomy), .phases = {undo_and_redo}},
        {.name = "undo_tight", .open = engine_with_history(k_tight), .phases = {undo_and_redo}},
        {.name = "undo_declared", .open = engine_with_history(k_roomy, sections::declared), .phases = {undo_and_redo}},
        {.name = "undo_of_bulk", .open = engine_with_history(k_roomy), .phases = {undo_of_bulk}},
        {.name = "undo_of_groups", .open = engine_with_history(k_tight), .phases = {undo_of_groups}},
        {.name = "undo_of_few_steps",
         .open = engine_with_history(k_tight, sections::ordinary, checkpointing::at_one_go, 4),
         .phases = {undo_and_redo}},
        {.name = "background_undo",
         .open = engine_with_history(4 * KiB, sections::ordinary, checkpointing::in_background),
         .phases = {undo_and_redo, undo_of_groups}},
        {.name = "background_undo_of_bulk",
         .open = engine_with_history(100 * KiB, sections::ordinary, checkpointing::in_background),
         .phases = {undo_of_bulk}},
        {.name = "kept_history", .open = engine_with_kept_history(k_roomy), .phases = {kept_history, kept_history}},
        {.name = "kept_history_that_is_read_late",
         .open = engine_that_reads_history_late(k_roomy),
         .phases = {unread_history, unread_history}},
        {.name = "kept_history_that_is_read_late_tight",
         .open = engine_that_reads_history_late(k_tight),
         .phases = {unread_history}},
        {.name = "kept_history_tight", .open = engine_with_kept_history(k_tight), .phases = {kept_history}},
        {.name = "kept_history_of_few_steps",
         .open = engine_with_kept_history(k_tight, checkpointing::at_one_go, 4),
         .phases = {kept_history, kept_history}},
        {.name = "kept_history_of_bulk", .open = engine_with_kept_history(k_roomy), .phases = {kept_history_of_bulk}},
        {.name = "background_kept_history",
         .open = engine_with_kept_history(4 * KiB, checkpointing::in_background),
         .phases = {kept_history, kept_history}},
        {.name = "kept_history_on_full_disk",
         .open = engine_with_kept_history(k_roomy),
         .phases = {undo_on_full_disk},
         .cuts_short = true},
        killed("killed_kept_history", engine_with_kept_history(k_roomy), kept_history_cut_short),
        failing("failing_kept_history", engine_with_kept_history(k_roomy), kept_history_cut_short,
                simulation::failed_sync::xfs),
        {.name = "undo_of_calls", .open = engine_with_history(k_roomy), .phases = {[](session& program) {
                                                                            undo_of_calls(program, false);
                                                                        }}},
        {.name = "background_undo_of_calls",
         .open = engine_with_history(4 * KiB, sections::ordinary, checkpointing::in_background),
         .phases = {[](session& program) { undo_of_calls(program, false); }}},
        {.name = "kept_undo_of_calls", .open = engine_with_kept_history(k_roomy), .phases = {[](session& program) {
                                                                                      undo_of_calls(program, true);
                                                                                  }}},
        {.name = "kept_undo_of_calls_tight",
         .open = engine_with_kept_history(k_tight),
         .phases = {[](session& program) { undo_of_calls(program, true); }}},
        killed("killed_undo_of_calls", engine_with_kept_history(k_roomy), undo_of_calls_cut_short),
        failing("failing_undo_of_calls", engine_with_history(k_roomy), undo_of_calls_cut_short,
                simulation::failed_sync::xfs),
        {.name = "undo_on_full_disk",
         .open = engine_with_history(k_roomy),
         .phases = {undo_on_full_disk},
         .cuts_short = true},
        {.name = "undo_and_kept_versions",
         .open = engine_with_history(k_roomy, sections::ordinary, checkpointing::at_one_go, 3),
         .phases = {kept_versions}},
        {.name = "undo_and_kept_versions_tight",
         .open = engine_with_history(k_tight, sections::declared, checkpointing::at_one_go, 3),
         .phases = {kept_versions}},
        {.name = "texts", .open = engine(), .phases = {texts, texts}},
        killed("killed_text", engine(), text_cut_short),
        {.name = "undo_branches", .open = engine_with_history(k_roomy), .phases = {branches}},
        {.name = "undo_branches_tight", .open = engine_with_history(k_tight), .phases = {branches, branches}},
        {.name = "kept_undo_and_versions_tight",
         .open = engine_with_kept_history(k_tight, checkpointing::at_one_go, 1000),
         .phases = {versions_over_sessions}},
        {.name = "kept_undo_and_versions_of_few_steps",
         .open = engine_with_kept_history(k_tight, checkpointing::at_one_go, 3),
         .phases = {versions_over_sessions}},
        {.name = "kept_undo_across_migration_tight",
         .open = engine_with_kept_history(k_tight, checkpointing::at_one_go, 3),
         .phases = {versions_across_migration}},
        killed("killed_kept_undo_changes", engine_with_kept_history(k_roomy), changes_of_history_cut_short),
        failing("failing_kept_undo_changes", engine_with_kept_history(k_roomy), changes_of_history_cut_short,
                simulation::failed_sync::xfs),
        killed("killed_undo_restore", engine_with_history(k_roomy), restore_cut_short),
        killed("killed_undo_branch", engine_with_history(k_roomy), branch_cut_short, 4),
        failing("failing_undo_branch", engine_with_history(k_roomy), branch_cut_short, simulation::failed_sync::xfs, 4),
        killed("killed_undo", engine_with_history(k_roomy), undo_cut_short),
        failing("failing_undo", engine_with_history(k_roomy), undo_cut_short, simulation::failed_sync::xfs),
    };
}

} // namespace remanence::crash
