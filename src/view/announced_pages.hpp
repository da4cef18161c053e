// The pages that somebody said will be written, in a declared section. May use: base, os (for the form of runs).
//
// An announcement costs a few instructions when it repeats a recent one, else an entry of a list, which is kept as short
// as the pages make it. Nothing here depends on the size of the heap.
#pragma once

#include "track/page_scan.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::view {

class announced_pages {
public:
    announced_pages() { clear(); }

    /// At least one byte. False when all pages of [offset, offset + bytes) are known to be in already. What there is no
    /// memory to note makes the list incomplete.
    bool add(std::uint64_t offset, std::uint64_t bytes) noexcept {
        const std::uint64_t first = offset / k_page_bytes;
        const std::uint64_t last = (offset + bytes - 1) / k_page_bytes;
        std::uint64_t& recent = recent_[first % k_recent];
        if (first == last && recent == first)
            return false;
        add_run(first, last);
        if (first == last)
            recent = first;
        return true;
    }
    [[nodiscard]] bool is_empty() const { return runs_.empty() && is_complete_; }
    [[nodiscard]] bool is_complete() const { return is_complete_; }
    /// Sorted and disjoint. Valid until the next add() or clear().
    [[nodiscard]] const std::vector<track::page_run>& runs();
    void clear();

private:
    static constexpr std::size_t k_recent = 64; // a power of two
    static constexpr std::size_t k_merge_from = 1024;

    void add_run(std::uint64_t first, std::uint64_t last) noexcept;

    std::array<std::uint64_t, k_recent> recent_; // single pages that are in runs_, by their lowest bits
    std::vector<track::page_run> runs_;
    std::size_t merge_at_ = k_merge_from; // so many runs are merged before another is added
    bool is_complete_ = true;
};

/// Runs in order, touching and overlapping ones joined.
void sort_and_merge(std::vector<track::page_run>& runs);
/// What is in `all` and not in `some`. Both sorted and disjoint.
std::vector<track::page_run> without(const std::vector<track::page_run>& all, const std::vector<track::page_run>& some);

} // namespace remanence::view
