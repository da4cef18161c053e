// Joins a commit's pages or chunks that are adjacent both in the heap and in the file into runs, so that each run is
// written or reserved by one call.
#pragma once

#include "base/range.hpp"
#include "change/change_set.hpp"
#include "store/chunk_copies.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace remanence::txn {

std::uint64_t bytes_of(std::span<const page_range> all);

/// Joins pages into runs, according to the copies of their chunks. Pages must be added in ascending order.
class page_runs {
public:
    explicit page_runs(const store::chunk_copies& copies) : copies_(copies) {}
    void add(std::uint64_t page);
    [[nodiscard]] const std::vector<page_range>& all() const { return all_; }

private:
    [[nodiscard]] bool continues(const page_range& before, std::uint64_t page) const;

    const store::chunk_copies& copies_;
    std::vector<page_range> all_;
};

std::vector<chunk_range> fresh_runs(const change::change_set& changes);
/// Returns runs of chunks whose new copies are adjacent, too.
std::vector<chunk_range> relocated_runs(const store::chunk_copies& copies, const change::change_set& changes);

/// Returns the pages of relocated extents that are to be written: all except those that a spill has written.
std::vector<page_range> relocated_page_runs(const store::chunk_copies& copies, const change::change_set& changes);
/// Returns the pages of fresh chunks that are to be written. Precondition: the chunks have a place in the file.
page_runs fresh_page_runs(const store::chunk_copies& copies, const change::change_set& changes);

} // namespace remanence::txn
