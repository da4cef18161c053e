// All blocks of a heap, to be found by what lies in them.
#pragma once

#include "base/range.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace remanence::inspect {

/// Besides the blocks, takes at most two numbers for each.
class sorted_blocks {
public:
    /// `blocks`: sorted.
    explicit sorted_blocks(std::vector<heap_range> blocks) : blocks_(std::move(blocks)) {
        const std::uint64_t end = blocks_.empty() ? 0 : blocks_.back().end();
        while (end >> shift_ > 2 * blocks_.size())
            ++shift_;
        first_.resize((end >> shift_) + 2);
        std::size_t first = 0;
        for (std::size_t part = 0; part != first_.size(); ++part) {
            while (first != blocks_.size() && blocks_[first].end() <= part << shift_)
                ++first;
            first_[part] = first;
        }
    }

    static constexpr std::size_t k_none = ~std::size_t{0};
    /// Returns the index of the block that contains a heap offset; otherwise k_none. O(1) where blocks lie densely.
    [[nodiscard]] std::size_t index_of(std::uint64_t offset) const {
        const std::uint64_t part = offset >> shift_;
        if (part + 1 >= first_.size())
            return k_none;
        const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(first_[part]);
        const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(std::min(first_[part + 1] + 1, blocks_.size()));
        const auto after = std::upper_bound(begin, end, offset,
                                            [](std::uint64_t at, const heap_range& each) { return at < each.offset; });
        if (after == begin || offset >= std::prev(after)->end())
            return k_none;
        return static_cast<std::size_t>(after - blocks_.begin()) - 1;
    }
    [[nodiscard]] const heap_range& operator[](std::size_t index) const { return blocks_[index]; }
    [[nodiscard]] std::size_t size() const { return blocks_.size(); }

private:
    std::vector<heap_range> blocks_;
    unsigned shift_ = 12;            // the heap is divided into parts of 2^shift_ bytes
    std::vector<std::size_t> first_; // for each part, the first block that ends behind its beginning
};

} // namespace remanence::inspect
