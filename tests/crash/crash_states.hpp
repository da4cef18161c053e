// The states in which a power loss may leave the medium while a trace is performed, numbered, so that a few of very many
// can be tried without making a list of all.
//
// After each operation that changes something come the states that this operation makes possible; after each promise
// to the program all that hold it to that promise. With n operations not durable, the newest among them:
//   whole      the newest persists, and any subset of the others
//   torn       likewise, but of the newest, a write, only some sectors: up to each boundary, and scattered ones
//   torn older likewise, but another write is torn
//   size apart the newest makes its file longer: the data without the new size, or the size without the data
//   reversed   overlapping operations persist in the reverse of their order
// With more than 10 not durable, "any subset" is 512 random ones: all, none, and of different densities.
#pragma once

#include "testing/crash_walk.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::crash {

enum class state_class : std::uint8_t { all, none, subset, torn, torn_older, size_apart, reversed };
inline constexpr std::size_t k_state_classes = 7;
std::string_view name_of(state_class which);

using trace = std::vector<simulation::disk_operation>;

struct crash_state {
    std::uint32_t position = 0; // operations performed before the loss
    std::uint64_t number = 0;   // among the states there

    [[nodiscard]] std::string name() const { return std::to_string(position) + '/' + std::to_string(number); }
};

/// What persists of the operations that are not durable.
struct persisting {
    state_class kind = state_class::none;
    std::vector<simulation::persisted_part> parts;
};

class crash_states {
public:
    /// The operations must outlive it.
    crash_states(std::span<const simulation::disk_operation> operations, simulation::failed_sync after_failure,
                 std::uint64_t seed);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] bool has(const crash_state& which) const;
    /// About `wanted` different ones, in order: as many of each family at each position, as far as it has them.
    [[nodiscard]] std::vector<crash_state> sample(std::uint64_t wanted, std::uint64_t seed) const;
    /// `pending`: what is not durable at the state's position.
    [[nodiscard]] persisting choose(const crash_state& which, std::span<const std::uint32_t> pending) const;

private:
    /// The states at one position, by families that follow each other.
    struct possibilities {
        bool any_subset = false; // after a promise: there is no newest operation
        std::uint64_t whole = 0;
        std::uint64_t torn = 0;
        std::uint64_t torn_older = 0;
        std::uint64_t size_apart = 0;
        std::uint64_t reversed = 0;
        std::vector<std::uint32_t> tears;     // of the newest: sectors kept; 0: scattered ones
        std::vector<std::size_t> older_tears; // indices in pending
        [[nodiscard]] std::array<std::uint64_t, 5> counts() const {
            return {whole, torn, torn_older, size_apart, reversed};
        }
    };
    [[nodiscard]] possibilities possible_at(std::uint32_t position, std::span<const std::uint32_t> pending) const;
    [[nodiscard]] bool conflicts(std::uint32_t a, std::uint32_t b) const;
    /// Which of `n` operations persist in the subset of that number.
    [[nodiscard]] std::vector<bool> subset(std::uint64_t number, std::size_t n, std::uint32_t position) const;
    void add_scattered(std::uint32_t operation, std::uint64_t seed,
                       std::vector<simulation::persisted_part>& parts) const;

    struct family { // at one position
        std::uint32_t position;
        std::uint64_t first; // number of its first state, at the position
        std::uint64_t count;
    };
    std::span<const simulation::disk_operation> trace_;
    std::uint64_t seed_;
    std::vector<family> families_; // none empty, by position
    std::uint64_t count_ = 0;
};

} // namespace remanence::crash
