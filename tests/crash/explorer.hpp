// Records workloads and tries the states in which a power loss may leave the disk (crash_states.hpp).
//
// States of level 1 are those of the workload. From each, the store is opened and goes on for one commit; the states of
// that trace are level 2, and so on: up to three recoveries are cut short in turn, before a fourth one. A full name is "workload#phase:state",
// ":state" for each further level behind it; a state is "position/number", and the seed belongs to it.
//
// Many states are equal: what was lost had been overwritten, or two recoveries did the same. A state whose disk and
// promise equal those of an earlier one counts as tried with the same outcome, and is not opened again.
#pragma once

#include "crash_states.hpp"
#include "session.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::crash {

inline constexpr std::size_t k_levels = 4;

struct workload {
    std::string name;
    open_function open;
    /// Each begins on what a power loss in the one before left (the first on an empty disk), and opens for itself.
    std::vector<std::function<void(session&)>> phases;
    /// From how many states of a phase the next one is tried.
    std::uint32_t restarts = 2;
    simulation::failed_sync after_failed_sync = simulation::failed_sync::xfs;
    /// Cuts attempts short, which only a simulated disk can.
    bool cuts_short = false;
    /// On a disk that knows durable writes; else they are writes and syncs.
    bool durable_writes = true;
    /// What a state costs, about, compared with one of most workloads: so many times fewer are tried, but a few dozen.
    std::uint64_t cost = 1;

    // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
    friend void PrintTo(const workload& each, std::ostream* out) { *out << each.name; }
};

struct exploration {
    std::uint64_t seed = 1;
    std::uint64_t states = 2000; // to be tried, about, at all levels together; the rest are left out at random
    std::size_t levels = k_levels;
    std::string only{};         // full name of the one state to be tried; empty: all
    std::string dropped_site{}; // what is done there is not done
    /// Given the trace of a phase: which of it the disk was really asked to do. Empty: all.
    std::function<trace(trace)> performed{};
};

enum class outcome : std::uint8_t {
    acknowledged, // recovered to the last acknowledged commit
    in_flight,    // to the one that was being committed
    created,      // there was a heap, although its creation was not acknowledged yet
    absent,       // there was none; it was created
};
inline constexpr std::size_t k_outcomes = 4;

/// How the states of one level ended.
struct level_counts {
    std::uint64_t possible = 0;  // states there were
    std::uint64_t different = 0; // of those tried, unlike all before them
    std::array<std::array<std::uint64_t, k_outcomes>, k_state_classes> tried{};
    [[nodiscard]] std::uint64_t states() const;
    [[nodiscard]] std::uint64_t of(outcome which) const;
    [[nodiscard]] std::uint64_t of(state_class which) const;
    void operator+=(const level_counts& other);
};

struct exploration_report {
    std::uint64_t operations = 0;
    std::array<level_counts, k_levels> levels{};
    std::string violation;                         // empty: none; else all that is needed to see it again
    std::map<std::string, std::string> call_sites; // name of each call site → what is done there

    [[nodiscard]] std::string summary(std::string_view name) const;
};

/// Runs the workload and tries its states, up to the first violation.
exploration_report explore(const workload& tested, const exploration& how);

/// Name of the state that is being tried, for a handler of fatal signals.
const char* current_state();

} // namespace remanence::crash
