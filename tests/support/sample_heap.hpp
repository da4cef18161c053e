// A small heap with something of everything that its format knows: several sessions, checkpoints, chunks that were
// skipped, blocks that were freed, a log with records and older ones behind them. What it holds follows from the
// program alone. Tests damage it, start fuzzing from it, and keep it as the golden files.
#pragma once

#include "base/units.hpp"
#include "testing/simulated_disk.hpp"

#include <remanence/remanence.hpp>

#include <functional>
#include <optional>
#include <string>

namespace remanence::sample {

inline constexpr const char* k_path = "/disk/sample.rem";
inline constexpr const char* k_log_path = "/disk/sample.rem-log";

/// What the roots of the heap are.
using dictionary = map<string, string>;
using numbers = vector<std::uint64_t>;
struct field { // a large block of which little was ever touched, so that chunks are skipped
    std::uint64_t* words;
    std::uint64_t count;
};

enum class ending {
    unapplied, // as if its process had been killed: the log has the last commits
    closed,
    giving_back, // as unapplied, and the last commit gives chunks back: killed in the checkpoint that follows it
};

inline constexpr std::uint64_t k_field_bytes = 320 * KiB;

/// Makes the heap on a disk that has none. `committed` is called after every commit. With another size of the field the
/// heap is not one that difference() knows.
void make(simulation::simulated_disk& disk, ending how, const std::function<void(heap&)>& committed = {},
          std::uint64_t field_bytes = k_field_bytes);
/// How the roots differ from what make() has put there; nothing when they do not.
std::optional<std::string> difference(heap& opened);

/// Makes a closed heap with the root "numbers" in an arena of that name: from 1 to k_numbers_in_arena.
inline constexpr std::uint64_t k_numbers_in_arena = 1000;
void make_with_arena(simulation::simulated_disk& disk);

} // namespace remanence::sample
