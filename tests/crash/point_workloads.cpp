// Commits that are only copied in their call, by heaps with threads beside the program: what is done while one is in flight.
#include "workload_parts.hpp"

#include <cstdint>
#include <functional>

namespace remanence::crash {

namespace {

using log::durability;

constexpr std::uint64_t k_doings = 10;
constexpr std::uint64_t k_syncs = 7; // one of them

/// Something of each kind, while a commit may be in flight.
void do_something(session& program, std::uint64_t which) {
    switch (which % k_doings) {
    case 0:
        program.poke(largest(program), 9000, 300);
        program.commit_async();
        break;
    case 1:
        program.rollback();
        break;
    case 2:
        program.commit();
        break;
    case 3:
        program.commit(durability::lazy);
        break;
    case 4:
        program.commit(durability::none);
        break;
    case 5:
        program.checkpoint();
        break;
    case 6:
        program.verify();
        break;
    case k_syncs:
        program.sync();
        break;
    case 8:
        program.add_block(70 * KiB);
        program.rollback();
        break;
    case 9: // several follow: the first adds new memory, and the last frees it
        program.add_block(9000);
        program.commit_async();
        program.poke(largest(program), 20'000, 300);
        program.commit_async();
        program.remove_block(0);
        program.commit_async();
        break;
    }
}

void change_pages(session& program, std::uint64_t n) {
    for (std::uint64_t i = 0; i < 5; ++i)
        program.poke(largest(program), 5000 + 13'000 * i + 100 * n, 30);
    program.change_serial();
}

void points(session& program) {
    begin(program);
    program.add_block(100 * KiB);
    program.commit();
    for (std::uint64_t n = 0; n < 2 * k_doings; ++n) {
        change_pages(program, n);
        if (n % 4 == 3)
            program.add_block(3000);
        const std::uint64_t version = program.commit_async();
        program.poke(largest(program), 5000 + 100 * n, 60); // what is in flight, too
        do_something(program, n);
        if (n % 3 == 0)
            program.wait(version);
    }
    change_pages(program, 1);
    program.commit_async();
    program.close();
    program.open();
    change_pages(program, 2);
    program.commit();
    change_pages(program, 3);
    program.commit_async();
    program.die(); // and nobody knows
    program.open();
    change_pages(program, 4);
    program.commit();
}

/// What is done while one is in flight is cut short at each operation.
void points_cut_short(session& program, session::cut how) {
    begin(program);
    program.add_block(100 * KiB);
    program.commit();
    std::uint64_t change = 0;
    const auto begin_point = [&] {
        change_pages(program, ++change % 20);
        program.commit(); // the session's log is there
        change_pages(program, ++change % 20);
        program.commit_async();
        change_pages(program, ++change % 20);
        const std::uint64_t version = program.commit_async(); // another is in flight
        program.poke(largest(program), 60'000, 20);
        return version;
    };
    cut_at_each_operation(program, [&](std::uint64_t n) {
        const std::uint64_t version = begin_point();
        return program.try_wait(n, how, version);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        begin_point();
        return program.try_commit_async(n, how);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        begin_point();
        return program.try_commit(n, how);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        begin_point();
        return program.try_checkpoint(n, how);
    });
    cut_at_each_operation(program, [&](std::uint64_t n) {
        begin_point();
        return program.try_close(n, how);
    });
    program.open();
    program.change_anything();
    program.commit();
}

/// The disk is full for a moment at each operation, of the call or later.
void points_on_full_disk(session& program) {
    begin(program);
    program.add_block(100 * KiB);
    program.commit();
    for (std::uint64_t which = 0; which < k_doings; ++which) {
        for (std::uint64_t n = 0;; ++n) {
            change_pages(program, n % 20);
            for (std::uint64_t i = 0; i < 7; ++i) // more than the log is reserved for, so that it grows later
                program.poke(largest(program), 9000 + 9000 * i, 3000);
            if (n % 3 == 0)
                program.add_block(60 * KiB);
            const bool is_done = program.commit_async_on_full_disk(n, [&] { change_pages(program, n % 19); });
            if (program.is_dead()) {
                program.open();
            } else {
                program.poke(largest(program), 70'000, 20);
                if (which == k_syncs)
                    program.sync_beside_failed();
                else
                    do_something(program, which);
            }
            program.change_serial();
            program.commit();
            if (program.current().blocks().size() > 5) {
                program.remove_block(0);
                program.commit();
            }
            if (is_done)
                break;
        }
    }
    program.verify();
    program.close();
    program.open();
    program.change_anything();
    program.commit();
}

} // namespace

std::vector<workload> point_workloads() {
    return {
        {.name = "points", .open = background_engine(k_tight), .phases = {points}},
        {.name = "points_without_checkpoints", .open = background_engine(k_ample), .phases = {points}},
        {.name = "points_in_declared_sections",
         .open = background_engine(k_tight, sections::declared),
         .phases = {points}},
        {.name = "points_without_durable_writes",
         .open = background_engine(k_tight),
         .phases = {points},
         .durable_writes = false},
        killed("killed_points", background_engine(k_tight), points_cut_short),
        failing("failing_points_xfs", background_engine(k_tight), points_cut_short, simulation::failed_sync::xfs),
        {.name = "points_on_full_disk",
         .open = background_engine(k_ample),
         .phases = {points_on_full_disk},
         .cuts_short = true,
         .cost = 2},
    };
}

} // namespace remanence::crash
