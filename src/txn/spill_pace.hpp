// Decides when to check whether the program has written so much that chunks should be spilled. A check costs time, and
// writes to memory cannot be counted, so this class estimates them from allocations.
#pragma once

#include "base/units.hpp"

#include <algorithm>
#include <cstdint>

namespace remanence::txn {

/// Is told of each block that the allocator hands out, or of several at once. A check is due when these blocks may have
/// used up the rest of the budget, or when other memory may have: the program writes there, too, about in proportion to
/// the number of blocks.
class spill_pace {
public:
    /// `budget`: 0 if it is not known yet.
    explicit spill_pace(std::uint64_t budget)
        : bytes_until_look_(budget == 0 ? k_bytes_of_unknown
                                        : std::min(budget / k_parts_of_budget, k_bytes_of_unknown)),
          blocks_until_look_(std::max(bytes_until_look_ / k_page_bytes, k_blocks_min)) {}

    [[nodiscard]] bool is_look_due(std::uint64_t bytes, std::uint64_t blocks = 1) {
        bytes_ += bytes;
        blocks_ += blocks;
        return bytes_ >= bytes_until_look_ || blocks_ >= blocks_until_look_;
    }
    /// Notes a check, with the written bytes before and after it spilled, and the budget.
    void looked(std::uint64_t before, std::uint64_t after, std::uint64_t budget) {
        const std::uint64_t grown = before - std::min(before, written_);
        const std::uint64_t of_each = std::max(grown / std::max<std::uint64_t>(blocks_, 1), k_written_with_each_min);
        const std::uint64_t room = std::max(budget - std::min(budget, after), budget / k_parts_of_budget);
        written_ = after;
        bytes_ = blocks_ = 0;
        bytes_until_look_ = room;
        blocks_until_look_ = std::max(room / 2 / of_each, k_blocks_min);
    }
    /// Notes that all written memory is committed.
    void committed() { written_ = bytes_ = blocks_ = 0; }

private:
    static constexpr std::uint64_t k_bytes_of_unknown = 4 * MiB;   // smaller heaps need no check
    static constexpr std::uint64_t k_written_with_each_min = 2048; // for each block; assumed even if less was measured
    static constexpr std::uint64_t k_parts_of_budget = 8;          // between checks at least an eighth of it is written
    static constexpr std::uint64_t k_blocks_min = 64;

    std::uint64_t written_ = 0; // after the last check
    std::uint64_t bytes_ = 0;   // handed out since
    std::uint64_t blocks_ = 0;  // handed out since
    std::uint64_t bytes_until_look_;
    std::uint64_t blocks_until_look_;
};

} // namespace remanence::txn
