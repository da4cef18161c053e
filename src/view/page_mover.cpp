#include "view/page_mover.hpp"

#include "base/range_list.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace remanence::view {

namespace {

/// Calls f(part) for the parts of `range` that lie in one chunk each.
template <class F>
void for_each_chunk_of(heap_range range, std::uint64_t chunk_bytes, const F& f) {
    for (std::uint64_t at = range.offset; at < range.end();) {
        const std::uint64_t end = std::min(range.end(), align_down(at, chunk_bytes) + chunk_bytes);
        f(heap_range{at, end - at});
        at = end;
    }
}

} // namespace

void page_mover::move(heap_range from, std::uint64_t to) noexcept {
    std::vector<heap_range> runs;
    try {
        runs = movable(from, to);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): everything is copied
    }
    std::uint64_t done = from.offset;
    const auto copy_up_to = [&](std::uint64_t end) {
        std::memcpy(memory_.base() + to + (done - from.offset), memory_.base() + done,
                    static_cast<std::size_t>(end - done));
    };
    for (const heap_range& run : runs) {
        if (run.bytes < k_bytes_min || !move_pages(run, to + (run.offset - from.offset)))
            continue;
        copy_up_to(run.offset);
        done = run.end();
    }
    copy_up_to(from.end());
}

// Returns the pages of `from` that may move, sorted.
std::vector<heap_range> page_mover::movable(heap_range from, std::uint64_t to) const {
    if (from.offset % k_page_bytes != to % k_page_bytes)
        return {};
    const std::uint64_t first = align_up(from.offset, k_page_bytes);
    const std::uint64_t end = align_down(from.end(), k_page_bytes);
    if (end <= first)
        return {};
    const std::uint64_t chunk_bytes = image_.chunk_bytes();
    std::vector<heap_range> with_place; // as ranges of `from`
    for_each_chunk_of({to + (first - from.offset), end - first}, chunk_bytes, [&](heap_range part) {
        if (memory_.is_anonymous(part.offset / chunk_bytes))
            append_run(with_place, from.offset + (part.offset - to), part.bytes);
    });
    std::vector<heap_range> runs;
    for (const heap_range& range : with_place) {
        for_each_chunk_of(range, chunk_bytes, [&](heap_range part) {
            if (may_leave(part))
                append_run(runs, part.offset, part.bytes);
        });
    }
    return runs;
}

// A stored chunk moves whole, so that it can be mapped from the file afterwards. If its committed content is newer than
// the file's, it stays.
bool page_mover::may_leave(heap_range part) const {
    const std::uint64_t chunk = part.offset / image_.chunk_bytes();
    if (!memory_.is_anonymous(chunk))
        return false;
    return memory_.places().is(chunk, place::chunk_state::fresh) ||
           (part == memory_.range_of(chunk) && !committed_.has_newer_in(chunk) && memory_.may_scatter());
}

bool page_mover::move_pages(heap_range from, std::uint64_t to) noexcept {
    try {
        written_.gather_again({from, {to, from.bytes}}); // also if nothing moves; then it costs a comparison
        if (!memory_.move_pages(from, to))
            return false;
    } catch (const std::bad_alloc&) {
        return false;
    }
    try {
        restore(from);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): see restore()
    }
    return true;
}

// Gives pages from which memory was moved their committed content. Those that cannot be mapped count as written, so a
// rollback restores them, and a commit finds no block there.
void page_mover::restore(heap_range left) {
    const std::uint64_t chunk_bytes = image_.chunk_bytes();
    std::vector<heap_range> zeros;
    std::vector<heap_range> stored;
    for_each_chunk_of(left, chunk_bytes, [&](heap_range part) {
        const bool is_fresh = memory_.places().is(part.offset / chunk_bytes, place::chunk_state::fresh);
        append_run(is_fresh ? zeros : stored, part.offset, part.bytes);
    });
    for (const heap_range& run : zeros)
        (void)memory_.map_zeros(run.offset, run.end());
    for (const heap_range& run : stored)
        map_from_file(run);
}

// Maps as few pieces as can be.
void page_mover::map_from_file(heap_range chunks) {
    for (std::uint64_t from = chunks.offset; from < chunks.end();) {
        const std::uint64_t copy = image_.copy_of(from);
        std::uint64_t end = from + image_.chunk_bytes();
        while (end < chunks.end() && image_.copy_of(end) - copy == end - from)
            end += image_.chunk_bytes();
        memory_.note_scattered();
        if (!memory_.map_copies({from, end - from}))
            return;
        from = end;
    }
}

} // namespace remanence::view
