#include "view/announced_pages.hpp"

#include <algorithm>

namespace remanence::view {

void sort_and_merge(std::vector<os::page_run>& runs) {
    std::sort(runs.begin(), runs.end(),
              [](const os::page_run& a, const os::page_run& b) { return a.offset < b.offset; });
    std::size_t kept = 0;
    for (const os::page_run& run : runs) {
        if (kept > 0 && run.offset <= runs[kept - 1].end()) {
            runs[kept - 1].bytes = std::max(runs[kept - 1].end(), run.end()) - runs[kept - 1].offset;
        } else {
            runs[kept++] = run;
        }
    }
    runs.resize(kept);
}

void announced_pages::add_run(std::uint64_t first, std::uint64_t last) {
    if (runs_.size() == merge_at_) {
        sort_and_merge(runs_);
        merge_at_ = std::max(k_merge_from, 2 * runs_.size());
    }
    runs_.push_back({first * k_page_bytes, (last - first + 1) * k_page_bytes});
}

const std::vector<os::page_run>& announced_pages::runs() {
    sort_and_merge(runs_);
    return runs_;
}

void announced_pages::clear() {
    recent_.fill(~std::uint64_t{0});
    runs_.clear();
    merge_at_ = k_merge_from;
}

} // namespace remanence::view
