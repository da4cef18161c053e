// What the workloads are made of: the heaps that they open, what several of them do, and how attempts are cut short. The
// workloads lie in files by what they are about.
#pragma once

#include "engine_store.hpp"
#include "explorer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace remanence::crash {

// Bytes of the log from which on a checkpoint is due.
inline constexpr std::uint64_t k_ample = 64 * MiB; // never
inline constexpr std::uint64_t k_roomy = 1 * MiB;
inline constexpr std::uint64_t k_tight = 12 * KiB; // every few commits

open_function engine_with(std::uint64_t log_limit_bytes, sections kind = sections::ordinary);
open_function engine_elsewhere_with(std::uint64_t log_limit_bytes, sections kind = sections::ordinary,
                                    checkpointing how = checkpointing::at_one_go);
open_function background_engine(std::uint64_t log_limit_bytes, sections kind = sections::ordinary);

/// With a history of so many steps.
open_function engine_with_history(std::uint64_t log_limit_bytes, sections kind = sections::ordinary,
                                  checkpointing how = checkpointing::at_one_go, std::uint64_t steps_max = 1000);

/// With one that is kept over sessions, whose file is made anew from 16 KiB on.
open_function engine_with_kept_history(std::uint64_t log_limit_bytes, checkpointing how = checkpointing::at_one_go,
                                       std::uint64_t steps_max = 1000);

/// The same; nothing reads its steps before a commit or an undo needs them.
open_function engine_that_reads_history_late(std::uint64_t log_limit_bytes);

/// Opens; a new heap gets a root.
void begin(session& program);
/// The index of the largest block.
std::size_t largest(session& program);

/// Attempts that are cut short at the first operation, at the second, and so on until one is done before that is reached.
/// After each other one the heap is opened again, and `afterwards()` is done.
template <class Attempt, class Afterwards>
void cut_at_each_operation(session& program, const Attempt& attempt, const Afterwards& afterwards) {
    for (std::uint64_t n = 0; !attempt(n); n++) {
        program.open();
        afterwards();
    }
}
template <class Attempt>
void cut_at_each_operation(session& program, const Attempt& attempt) {
    cut_at_each_operation(program, attempt, [] {});
}

/// A phase whose attempts end in that way.
using cut_phase = void (*)(session& program, session::cut how);
workload killed(std::string name, open_function open, cut_phase phase, std::uint64_t cost = 1);
workload failing(std::string name, open_function open, cut_phase phase, simulation::failed_sync after_failed_sync,
                 std::uint64_t cost = 1);

// By what they are about. Names are unique, and part of what names a crash state.

/// Commits of few and of many bytes, in heaps that are made, that grow, and whose checkpoints are due soon or late.
std::vector<workload> commit_workloads();
/// How durable commits are when they return, and the log that they lie in.
std::vector<workload> durability_workloads();
/// Memory that is freed, used again, given back, or never used.
std::vector<workload> space_workloads();
/// Chunks that are rewritten, and move to their other copy.
std::vector<workload> move_workloads();
/// Checkpoints beside commits.
std::vector<workload> background_workloads();
/// Commits that are copied, and made while others do something.
std::vector<workload> point_workloads();
/// Checkpoints that a machine with little memory needs.
std::vector<workload> short_memory_workloads();
/// Heaps of which only stretches were written, with gaps mapped from holes of the file.
std::vector<workload> stretch_workloads();
/// Commits that are undone and redone.
std::vector<workload> undo_workloads();
/// The same, of one history that two processes have. They are among the sharing_workloads().
std::vector<workload> shared_undo_workloads();
/// Heaps that two processes share; none of engine_workloads(), since on real files the two would be told apart by more.
std::vector<workload> sharing_workloads();

} // namespace remanence::crash
