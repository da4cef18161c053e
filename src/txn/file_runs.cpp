#include "txn/file_runs.hpp"

#include "base/range.hpp"

namespace remanence::txn {

namespace {

/// Returns runs of adjacent chunks. `continues(before, chunk)` tells whether two neighbours belong to one run.
template <class F>
std::vector<chunk_range> runs_of(const std::vector<change::whole_chunk>& sorted, F&& continues) {
    std::vector<chunk_range> runs;
    for (const change::whole_chunk& each : sorted) {
        if (!runs.empty() && runs.back().end() == each.chunk && continues(each.chunk - 1, each.chunk))
            ++runs.back().count;
        else
            runs.push_back({each.chunk, 1});
    }
    return runs;
}

} // namespace

std::uint64_t bytes_of(std::span<const page_range> all) {
    std::uint64_t pages = 0;
    for (const page_range& each : all)
        pages += each.count;
    return pages * k_page_bytes;
}

void page_runs::add(std::uint64_t page) {
    if (!all_.empty() && continues(all_.back(), page))
        ++all_.back().count;
    else
        all_.push_back({page, 1});
}

bool page_runs::continues(const page_range& before, std::uint64_t page) const {
    return before.end() == page && copies_.copy_of(page * k_page_bytes) ==
                                       copies_.copy_of(before.first * k_page_bytes) + before.count * k_page_bytes;
}

std::vector<chunk_range> fresh_runs(const change::change_set& changes) {
    return runs_of(changes.fresh, [](std::uint64_t, std::uint64_t) { return true; });
}

std::vector<chunk_range> relocated_runs(const store::chunk_copies& copies, const change::change_set& changes) {
    return runs_of(changes.relocated, [&](std::uint64_t before, std::uint64_t chunk) {
        return copies.other_copy_of(chunk) == copies.other_copy_of(before) + copies.where().chunk_bytes();
    });
}

std::vector<page_range> relocated_page_runs(const store::chunk_copies& copies, const change::change_set& changes) {
    std::vector<page_range> found;
    std::uint64_t copy_of_next = 0; // where the last page's copy ends
    for (const change::whole_chunk& moved : changes.relocated) {
        const std::uint64_t copy = copies.other_copy_of(moved.chunk);
        for (std::uint64_t i = 0; i < copies.where().chunk_pages(); ++i) {
            if (!moved.needs_writing(i))
                continue;
            const std::uint64_t page = moved.chunk * copies.where().chunk_pages() + i;
            const std::uint64_t copy_of_page = copy + i * k_page_bytes;
            if (!found.empty() && found.back().end() == page && copy_of_page == copy_of_next)
                ++found.back().count;
            else
                found.push_back({page, 1});
            copy_of_next = copy_of_page + k_page_bytes;
        }
    }
    return found;
}

page_runs fresh_page_runs(const store::chunk_copies& copies, const change::change_set& changes) {
    page_runs found(copies);
    for (const change::whole_chunk& fresh : changes.fresh) {
        for (std::uint64_t i = 0; i < copies.where().chunk_pages(); ++i) {
            if (fresh.checksums[i] != 0 && fresh.needs_writing(i))
                found.add(fresh.chunk * copies.where().chunk_pages() + i);
        }
    }
    return found;
}

} // namespace remanence::txn
