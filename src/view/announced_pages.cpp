#include "view/announced_pages.hpp"

#include <algorithm>
#include <new>

namespace remanence::view {

void sort_and_merge(std::vector<track::page_run>& runs) {
    std::sort(runs.begin(), runs.end(),
              [](const track::page_run& a, const track::page_run& b) { return a.offset < b.offset; });
    std::size_t kept = 0;
    for (const track::page_run& run : runs) {
        if (kept > 0 && run.offset <= runs[kept - 1].end()) {
            runs[kept - 1].bytes = std::max(runs[kept - 1].end(), run.end()) - runs[kept - 1].offset;
        } else {
            runs[kept++] = run;
        }
    }
    runs.resize(kept);
}

std::vector<track::page_run> without(const std::vector<track::page_run>& all, const std::vector<track::page_run>& some) {
    std::vector<track::page_run> rest;
    auto hidden = some.begin();
    for (const track::page_run& run : all) {
        std::uint64_t from = run.offset;
        while (hidden != some.end() && hidden->end() <= from)
            ++hidden;
        for (auto next = hidden; next != some.end() && next->offset < run.end(); ++next) {
            if (next->offset > from)
                rest.push_back({from, next->offset - from});
            from = std::max(from, next->end());
        }
        if (from < run.end())
            rest.push_back({from, run.end() - from});
    }
    return rest;
}

void announced_pages::add_run(std::uint64_t first, std::uint64_t last) noexcept {
    if (runs_.size() == merge_at_) {
        sort_and_merge(runs_);
        merge_at_ = std::max(k_merge_from, 2 * runs_.size());
    }
    try {
        runs_.push_back({first * k_page_bytes, (last - first + 1) * k_page_bytes});
    } catch (const std::bad_alloc&) {
        is_complete_ = false;
    }
}

const std::vector<track::page_run>& announced_pages::runs() {
    sort_and_merge(runs_);
    return runs_;
}

void announced_pages::clear() {
    recent_.fill(~std::uint64_t{0});
    runs_.clear();
    merge_at_ = k_merge_from;
    is_complete_ = true;
}

} // namespace remanence::view
