#include "base/range_list.hpp"

#include "base/range.hpp"

#include <algorithm>

namespace remanence {

void sort_and_merge(std::vector<heap_range>& ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const heap_range& a, const heap_range& b) { return a.offset < b.offset; });
    std::size_t kept = 0;
    for (const heap_range& range : ranges) {
        if (kept > 0 && range.offset <= ranges[kept - 1].end()) {
            ranges[kept - 1].bytes = std::max(ranges[kept - 1].end(), range.end()) - ranges[kept - 1].offset;
        } else {
            ranges[kept++] = range;
        }
    }
    ranges.resize(kept);
}

void append_run(std::vector<heap_range>& runs, std::uint64_t offset, std::uint64_t bytes) {
    if (!runs.empty() && runs.back().end() == offset) {
        runs.back().bytes += bytes;
    } else {
        runs.push_back({offset, bytes});
    }
}

std::vector<heap_range> without(const std::vector<heap_range>& all, const std::vector<heap_range>& some) {
    std::vector<heap_range> rest;
    auto hidden = some.begin();
    for (const heap_range& range : all) {
        std::uint64_t from = range.offset;
        while (hidden != some.end() && hidden->end() <= from)
            ++hidden;
        for (auto next = hidden; next != some.end() && next->offset < range.end(); ++next) {
            if (next->offset > from)
                rest.push_back({from, next->offset - from});
            from = std::max(from, next->end());
        }
        if (from < range.end())
            rest.push_back({from, range.end() - from});
    }
    return rest;
}

std::vector<heap_range> common_to(const std::vector<heap_range>& all, const std::vector<heap_range>& some) {
    return without(all, without(all, some));
}

std::uint64_t bytes_of(std::span<const heap_range> ranges) {
    std::uint64_t bytes = 0;
    for (const heap_range& range : ranges)
        bytes += range.bytes;
    return bytes;
}

std::vector<heap_range> split_at_chunks(std::span<const heap_range> ranges, std::uint64_t chunk_bytes) {
    std::vector<heap_range> split;
    for (const heap_range& range : ranges) {
        for (std::uint64_t from = range.offset; from < range.end();) {
            const std::uint64_t to = std::min(range.end(), (from / chunk_bytes + 1) * chunk_bytes);
            split.push_back({from, to - from});
            from = to;
        }
    }
    return split;
}

std::span<const heap_range> in_same_chunk(std::span<const heap_range> split, const heap_range* first,
                                          std::uint64_t chunk_bytes) {
    const heap_range* end = first;
    while (end != split.data() + split.size() && end->offset / chunk_bytes == first->offset / chunk_bytes)
        ++end;
    return {first, end};
}

} // namespace remanence
