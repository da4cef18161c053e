// The tracker of a view, and the pages that it has reported in this round. A round begins when everything written was
// committed or rolled back.
#pragma once

#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/result.hpp"
#include "track/page_scan.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace remanence::view {

/// A view that is only read has no tracker; then only has_tracker() may be called.
class written_pages {
public:
    explicit written_pages(std::unique_ptr<track::page_scanner> tracker) : tracker_(std::move(tracker)) {}

    [[nodiscard]] bool has_tracker() const { return tracker_ != nullptr; }
    [[nodiscard]] track::page_scanner& tracker() { return *tracker_; }
    [[nodiscard]] const track::page_scanner& tracker() const { return *tracker_; }

    /// Asks the tracker which pages of the first `bytes` of memory were written.
    result<void> gather(std::uint64_t bytes) {
        auto collected = tracker_->collect(bytes, ranges_);
        sort_and_merge(ranges_); // after a failure, too, since some may have been reported
        return collected;
    }
    /// Returns the pages of `where` (sorted) that were written, sorted: all that gather() would report there, or has
    /// reported. Returns nothing if only gather() can tell. Changes nothing.
    result<std::optional<std::vector<heap_range>>> find(const std::vector<heap_range>& where) {
        std::vector<heap_range> found;
        auto told = tracker_->find_written(where, found);
        if (!told)
            return told.error();
        if (!*told)
            return std::optional<std::vector<heap_range>>();
        found.insert(found.end(), ranges_.begin(), ranges_.end());
        sort_and_merge(found);
        return std::optional(common_to(found, where));
    }
    /// From now on the pages of `where` (sorted), which are in the first `bytes` of memory and hold committed content,
    /// do not count as written; other pages still do.
    result<void> settle(const std::vector<heap_range>& where, std::uint64_t bytes) {
        auto collected = tracker_->collect_parts(where, ranges_);
        sort_and_merge(ranges_); // after a failure, too
        if (!collected)
            return collected.error();
        if (!*collected) {
            REM_TRY(gather(bytes));
            tracker_->watch();
        }
        ranges_ = without(ranges_, where);
        return {};
    }
    /// Appends the reported pages of `where`, sorted. Allocates nothing but what `pages` needs.
    void append_reported(heap_range where, std::vector<heap_range>& pages) const {
        auto each = std::ranges::upper_bound(ranges_, where.offset, {}, &heap_range::end);
        for (; each != ranges_.end() && each->offset < where.end(); ++each) {
            const std::uint64_t from = std::max(each->offset, where.offset);
            pages.push_back({from, std::min(each->end(), where.end()) - from});
        }
    }
    /// Returns the written pages, sorted.
    [[nodiscard]] const std::vector<heap_range>& ranges() const { return ranges_; }
    /// Removes a range that has been handled.
    void forget(heap_range range) { ranges_ = without(ranges_, {range}); }
    /// Adds pages (sorted) that the next commit must compare again, although the tracker no longer reports them.
    void gather_again(const std::vector<heap_range>& ranges) {
        ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
        sort_and_merge(ranges_);
    }
    /// Begins a new round. Precondition: all reported pages were handled, and memory holds committed content.
    void begin_round() {
        ranges_.clear();
        tracker_->watch();
    }

private:
    std::unique_ptr<track::page_scanner> tracker_;
    std::vector<heap_range> ranges_;
};

} // namespace remanence::view
