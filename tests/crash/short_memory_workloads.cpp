// Programs on a machine that has little memory: checkpoints come when chunks that moved, or pages that were changed, keep too
// much of it, long before the log asks for one.
//
// A run of both: 4,485 states, no violation.
#include "workload_parts.hpp"

namespace remanence::crash {

namespace {

using log::durability;

constexpr std::uint64_t k_rewritten_block = 512 * KiB; // most of its chunks move when it is rewritten
constexpr std::size_t k_rewritten_blocks = 10; // together more than the least that makes a checkpoint due, 4 MiB

open_function small_machine(checkpointing how) {
    auto options = small_heap_options();
    options.log_limit_bytes = k_ample;
    options.memory_bytes = 16 * MiB; // so limits are the least there are
    return engine(options, sections::ordinary, how);
}

/// On a large machine; but after each commit or rollback, memory goes back to the kernel but for a MiB.
open_function limited(checkpointing how, sections kind = sections::ordinary) {
    auto options = small_heap_options();
    options.log_limit_bytes = k_ample;
    options.resident_limit_bytes = 1 * MiB;
    return engine(options, kind, how);
}

void rewrite_block(session& program, std::size_t index) { program.poke(index, 64, k_rewritten_block - 64); }

/// Chunk after chunk leaves a copy that keeps its memory.
void rewrite_all_blocks(session& program) {
    for (std::size_t i = 0; i < k_rewritten_blocks; i += 2) {
        rewrite_block(program, i);
        rewrite_block(program, i + 1);
        if (i % 8 == 2)
            program.commit(durability::lazy);
        else if (i % 8 == 4)
            program.commit_async();
        else
            program.commit();
    }
}

/// A few bytes of each page, which the log has, and memory twice.
void change_each_page(session& program) {
    for (std::size_t i = 0; i < k_rewritten_blocks; i++) {
        for (std::uint64_t at = 100; at < k_rewritten_block; at += 4 * KiB)
            program.poke(i, at, 8);
        if (i % 4 == 3)
            program.commit(i == 3 ? durability::lazy : durability::durable);
    }
    program.commit_async();
}

void short_memory(session& program) {
    begin(program);
    for (std::size_t i = 0; i < k_rewritten_blocks; i++) { // they stay in memory, until there are too many
        program.add_block(k_rewritten_block);
        if (i % 3 == 2)
            program.commit();
    }
    program.commit(durability::lazy);
    rewrite_all_blocks(program);
    change_each_page(program);
    program.poke(3, 5000, 300);
    program.rollback();
    rewrite_all_blocks(program);
    rewrite_all_blocks(program); // where a checkpoint was, back
    program.poke(2, 9000, 300);
    program.commit();
    program.expect_health(); // of a checkpoint that a commit may have made
    program.die();
    program.open();
    change_each_page(program);
    rewrite_all_blocks(program);
    program.verify();
    program.close();
}

} // namespace

std::vector<workload> short_memory_workloads() {
    return {
        {.name = "short_memory", .open = small_machine(checkpointing::at_one_go), .phases = {short_memory}, .cost = 16},
        {.name = "background_short_memory",
         .open = small_machine(checkpointing::in_background),
         .phases = {short_memory},
         .cost = 16},
        {.name = "limited_memory", .open = limited(checkpointing::at_one_go), .phases = {short_memory}, .cost = 16},
        {.name = "limited_memory_declared",
         .open = limited(checkpointing::at_one_go, sections::declared),
         .phases = {short_memory},
         .cost = 16},
        {.name = "background_limited_memory",
         .open = limited(checkpointing::in_background),
         .phases = {short_memory},
         .cost = 16},
    };
}

} // namespace remanence::crash
