// Heaps that two processes share: what a power loss leaves of commits in turn, of checkpoints that pins hold up or let pass, of chunks
// that move beside readers, and of a commit that another process finds.
#include "shared_store.hpp"
#include "workload_parts.hpp"

#include <algorithm>
#include <iterator>

namespace remanence::crash {

namespace {

using log::durability;

open_function shared_with(std::uint64_t log_limit_bytes) {
    txn::engine_options options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    options.log_bytes_max = k_roomy; // what is rewritten beside a reader
    return shared_engines(options);
}

void commit_in_turn(session& program) {
    begin(program);
    program.add_block(200 * KiB);
    program.commit();
    for (std::uint64_t i = 0; i < 24; i++) {
        program.poke(largest(program), 5000 + 9000 * (i % 7), 700);
        program.poke(largest(program), 900 + 64 * i, 40);
        if (i % 3 == 1)
            program.poke(largest(program), 64, 199 * KiB); // chunks move, and back
        if (i % 4 == 2)
            program.add_block(300 + 40'000 * (i % 3));
        if (i % 8 == 5)
            program.remove_block(0); // never the largest
        program.commit(i % 4 == 1 ? durability::lazy : durability::durable);
        if (i % 9 == 3) {
            program.poke(9000);
            program.rollback();
        }
        if (i == 13)
            program.verify();
    }
    program.checkpoint();
    program.poke(3000);
    program.commit();
    program.die();
    program.open();
    for (std::uint64_t i = 0; i < 6; i++) {
        program.poke(2500);
        program.commit();
    }
    program.close();
    program.open();
    program.poke(9);
    program.commit();
}

void cut_commits_in_turn(session& program, session::cut how) {
    begin(program);
    program.add_block(200 * KiB);
    program.commit();
    std::uint64_t i = 0;
    cut_at_each_operation(program, [&](std::uint64_t n) {
        for (int before = 0; before < 5; before++) { // beside a reader, then
            program.poke(largest(program), 5000 + 9000 * (i++ % 7), 3000);
            program.commit();
        }
        program.poke(largest(program), 64, 199 * KiB);
        return program.try_commit(n, how);
    });
    program.close();
}

} // namespace

std::vector<workload> sharing_workloads() {
    workload in_turn{"shared", shared_with(k_tight), {commit_in_turn}};
    in_turn.cost = 4;
    std::vector<workload> all{in_turn, killed("shared_killed", shared_with(k_tight), cut_commits_in_turn, 8)};
    std::ranges::move(shared_undo_workloads(), std::back_inserter(all));
    return all;
}

} // namespace remanence::crash
