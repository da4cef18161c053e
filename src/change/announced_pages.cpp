#include "change/announced_pages.hpp"

#include "base/range.hpp"

#include <algorithm>
#include <new>

namespace remanence::change {

void announced_pages::add_pages(std::uint64_t first, std::uint64_t last) noexcept {
    if (ranges_.size() == merge_at_) {
        sort_and_merge(ranges_);
        merge_at_ = std::max(k_merge_from, 2 * ranges_.size());
    }
    try {
        ranges_.push_back({first * k_page_bytes, (last - first + 1) * k_page_bytes});
    } catch (const std::bad_alloc&) {
        is_complete_ = false;
    }
}

const std::vector<heap_range>& announced_pages::ranges() {
    sort_and_merge(ranges_);
    return ranges_;
}

void announced_pages::clear() {
    recent_.fill(~std::uint64_t{0});
    ranges_.clear();
    merge_at_ = k_merge_from;
    is_complete_ = true;
}

} // namespace remanence::change
