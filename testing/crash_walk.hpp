// The states in which a power loss may leave a simulated disk, by its rules S1 to S4 and S6.
#pragma once

#include "testing/simulated_disk.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::simulation {

/// Goes through a trace and knows which of its operations are not durable.
class pending_operations {
public:
    pending_operations(std::span<const disk_operation> trace, failed_sync after_failure)
        : trace_(trace), after_failure_(after_failure) {}

    /// Operations gone through so far.
    [[nodiscard]] std::uint32_t position() const { return position_; }
    /// Goes past one more. True when it made something durable or lost it for good: `now_durable` are those parts.
    bool advance(std::vector<persisted_part>& now_durable);
    /// What is not durable, in the order of the calls: each may persist, in whole or in part.
    [[nodiscard]] const std::vector<std::uint32_t>& pending() const { return pending_; }

private:
    /// Whether the sync of this index in the trace is meant to make an earlier operation durable.
    [[nodiscard]] bool covers(std::uint32_t index, std::uint32_t earlier_index) const;

    std::span<const disk_operation> trace_;
    failed_sync after_failure_;
    std::uint32_t position_ = 0;
    std::vector<std::uint32_t> pending_;
    std::vector<std::uint32_t> orphans_; // S4: of pending_, those that a later sync of the file will find clean
};

/// Goes through a trace and puts the disk into the states a power loss at the point reached may leave. After a loss
/// everything that persisted is durable: it is an ordinary disk, on which recovery can be run (and rewound), and whose
/// recovery can be walked in turn.
class crash_walk {
public:
    /// `disk` is in the state before the first operation of `trace`, all of it durable, and returns there in the end.
    crash_walk(simulated_disk& disk, std::span<const disk_operation> trace);
    ~crash_walk();
    crash_walk(const crash_walk&) = delete;
    crash_walk& operator=(const crash_walk&) = delete;

    /// Operations performed before the loss.
    [[nodiscard]] std::uint32_t position() const { return pending_.position(); }
    void advance_to(std::uint32_t position);
    /// Those of them that are not durable, in the order of their calls: each may persist, in whole or in part.
    [[nodiscard]] const std::vector<std::uint32_t>& pending() const { return pending_.pending(); }

    /// The medium becomes: all that is durable, then these parts in this order. What the state shares with the one
    /// built last, up to the first difference, is not built again.
    void build(std::span<const persisted_part> parts);
    /// All of pending(), of the last one only the first sectors.
    void build_prefix(std::uint32_t sectors_of_last = persisted_part::k_all);
    /// None of pending().
    void build_synced() { build({}); }

private:
    void drop_built(std::size_t parts_kept);

    simulated_disk& disk_;
    std::span<const disk_operation> trace_;
    simulated_disk::savepoint start_;
    pending_operations pending_;
    struct built_part {
        persisted_part part;
        simulated_disk::savepoint before;
    };
    std::vector<built_part> built_;
    std::vector<persisted_part> scratch_;
};

} // namespace remanence::simulation
