#include "testing/block_set.hpp"

#include "base/range.hpp"

#include <iterator>

namespace remanence::simulation {

void block_set::add(file_range range) {
    if (range.bytes == 0 || holds_all_of(range))
        return;
    remove(range);
    std::uint64_t begin = range.offset;
    std::uint64_t end = range.end();
    if (const auto next = ends_.find(end); next != ends_.end()) {
        end = next->second;
        ends_.erase(next);
    }
    if (const auto after = ends_.lower_bound(begin); after != ends_.begin()) {
        if (const auto before = std::prev(after); before->second == begin)
            begin = before->first;
    }
    ends_[begin] = end;
    bytes_ += range.bytes;
}

void block_set::remove(file_range range) {
    auto it = ends_.upper_bound(range.offset);
    if (it != ends_.begin())
        --it;
    while (it != ends_.end() && it->first < range.end()) {
        const auto [begin, end] = *it;
        const std::uint64_t cut_begin = std::max(begin, range.offset);
        const std::uint64_t cut_end = std::min(end, range.end());
        if (cut_begin >= cut_end) {
            ++it;
            continue;
        }
        it = ends_.erase(it);
        if (begin < cut_begin)
            ends_[begin] = cut_begin;
        if (cut_end < end)
            it = ends_.emplace(cut_end, end).first;
        bytes_ -= cut_end - cut_begin;
    }
}

bool block_set::holds_all_of(file_range range) const {
    const auto after = ends_.upper_bound(range.offset);
    return after != ends_.begin() && std::prev(after)->second >= range.end();
}

} // namespace remanence::simulation
