// What of a commit's chunks can be written, or reserved, in one piece: runs of pages or chunks that follow each
// other, in the heap and in the file.
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

/// Joins pages, added in the order of the heap, into runs, by the copies where their chunks are.
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
/// Of chunks that follow each other in the copies they move to, too.
std::vector<chunk_range> relocated_runs(const store::chunk_copies& copies, const change::change_set& changes);

/// The pages of relocated extents that are to be written: all, but for what was spilled.
std::vector<page_range> relocated_page_runs(const store::chunk_copies& copies, const change::change_set& changes);
/// The pages of fresh chunks that are to be written, once they have a copy.
page_runs fresh_page_runs(const store::chunk_copies& copies, const change::change_set& changes);

} // namespace remanence::txn
