// Records workloads and tries the states in which a power loss may leave the disk.
//
// A state is named "position/form": the loss comes after that many operations of the trace, and
//   whole   all of them persisted;
//   torn:n  all of them, of the last one (a write) only the first n sectors;
//   synced  only what was synced;
//   newest  what was synced, and of the rest only the last operation: it overtook the others.
// Level 1 states are those of the workload. From each, the store is opened and goes on for one commit; the states of
// that trace are level 2. A full name is "workload#phase:state" or "workload#phase:state:state".
#pragma once

#include "session.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::crash {

struct workload {
    std::string name;
    open_function open;
    /// Each begins on what a power loss in the one before left (the first on an empty disk), and opens for itself.
    std::vector<std::function<void(session&)>> phases;
    /// From how many states of a phase the next one is tried.
    std::uint32_t restarts = 2;

    // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
    friend void PrintTo(const workload& each, std::ostream* out) { *out << each.name; }
};

struct exploration {
    std::uint64_t seed = 1;
    std::uint64_t states = 2000; // to be tried, about, at both levels together; the rest are left out at random
    bool level_2 = true;
    std::string only{};         // full name of the one state to be tried; empty: all
    std::string dropped_sync{}; // name of a site whose syncs are not done
    bool only_reordered =
        false; // only the forms that lose an operation and keep a later one, or lose all: synced, newest
};

/// How the states of one level ended.
struct level_counts {
    std::uint64_t states = 0;       // tried
    std::uint64_t possible = 0;     // there were
    std::uint64_t acknowledged = 0; // recovered to the last acknowledged commit
    std::uint64_t in_flight = 0;    // to the one that was being committed
    std::uint64_t created = 0;      // there was a heap, although its creation was not acknowledged yet
    std::uint64_t absent = 0;       // there was none; it was created
    void operator+=(const level_counts& other);
};

struct exploration_report {
    std::uint64_t operations = 0;
    std::array<level_counts, 2> levels{};
    std::string violation; // empty: none; else all that is needed to see it again
    std::vector<std::string> sync_sites;

    [[nodiscard]] std::string summary(std::string_view name) const;
};

/// Runs the workload and tries its states, up to the first violation.
exploration_report explore(const workload& tested, const exploration& how);

/// Name of the state that is being tried, for a handler of fatal signals.
const char* current_state();

} // namespace remanence::crash
