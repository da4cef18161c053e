// A set of stretches of a simulated file: of its blocks, or of its data. Private to the simulated disk.
#pragma once

#include "base/range.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace remanence::simulation {

/// Disjoint ranges, never adjacent. It costs what it has of them, however long they are.
class block_set {
public:
    static file_range blocks_of(file_range range) {
        const std::uint64_t begin = align_down(range.offset, k_page_bytes);
        return {begin, align_up(range.end(), k_page_bytes) - begin};
    }
    void add(file_range range);
    void remove(file_range range);
    [[nodiscard]] bool holds_all_of(file_range range) const;
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Calls f(begin, end) for what it has of the range, in order. `f` must not change the set.
    template <class F>
    void for_each_within(file_range range, F f) const {
        auto it = ends_.upper_bound(range.offset);
        if (it != ends_.begin())
            --it;
        for (; it != ends_.end() && it->first < range.end(); ++it) {
            const std::uint64_t begin = std::max(it->first, range.offset);
            const std::uint64_t end = std::min(it->second, range.end());
            if (begin < end)
                f(begin, end);
        }
    }

private:
    std::map<std::uint64_t, std::uint64_t> ends_; // begin → end
    std::uint64_t bytes_ = 0;
};

} // namespace remanence::simulation
