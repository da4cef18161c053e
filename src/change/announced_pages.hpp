// The pages that somebody said will be written.
//
// An announcement costs a few instructions when it repeats a recent one, else an entry of a list, which is kept as short
// as the pages make it. Nothing here depends on the size of the heap.
#pragma once

#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::change {

/// Not thread-safe: whoever owns it has a lock around it.
class announced_pages {
public:
    announced_pages() { clear(); }

    /// Adds the pages of [offset, offset + bytes), which is at least one byte. Returns false when all of them are known to be in
    /// already. When there is no memory to note them, the list becomes incomplete.
    bool add(std::uint64_t offset, std::uint64_t bytes) noexcept {
        const std::uint64_t first = offset / k_page_bytes;
        const std::uint64_t last = (offset + bytes - 1) / k_page_bytes;
        std::uint64_t& recent = recent_[first % k_recent];
        if (first == last && recent == first)
            return false;
        add_pages(first, last);
        if (first == last)
            recent = first;
        return true;
    }
    [[nodiscard]] bool is_empty() const { return ranges_.empty() && is_complete_; }
    [[nodiscard]] bool is_complete() const { return is_complete_; }
    /// Returns whole pages, sorted. Valid until the next add() or clear().
    [[nodiscard]] const std::vector<heap_range>& ranges();
    void clear();

private:
    static constexpr std::size_t k_recent = 64; // a power of two
    static constexpr std::size_t k_merge_from = 1024;

    void add_pages(std::uint64_t first, std::uint64_t last) noexcept;

    std::array<std::uint64_t, k_recent> recent_; // single pages that are in ranges_, by their lowest bits
    std::vector<heap_range> ranges_;
    std::size_t merge_at_ = k_merge_from; // so many ranges are merged before another is added
    bool is_complete_ = true;
};

} // namespace remanence::change
