#include "store/unused_space.hpp"

#include "base/range.hpp"

#include <algorithm>

namespace remanence::store {

result<std::vector<chunk_range>> unused_space::reserve_to_give_back(std::span<const heap_range> unused) {
    std::vector<chunk_range> runs;
    for (const heap_range& each : unused) {
        const chunk_range chunks = to_chunks(each, copies_.where().chunk_bytes());
        for (std::uint64_t chunk = chunks.first; chunk < chunks.end(); ++chunk) {
            if (!copies_.is_stored(chunk))
                continue;
            if (!runs.empty() && runs.back().end() == chunk)
                ++runs.back().count;
            else
                runs.push_back({chunk, 1});
        }
    }
    runs.resize(copies_.room_to_give_back(runs));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        auto reserved = room_.reserve_to_give_back(runs[i], i + 1);
        if (reserved)
            continue;
        if (reserved.why().code == errc::io)
            return reserved.error();
        runs.resize(i); // I8
    }
    return runs;
}

std::uint64_t unused_space::needed_end() const {
    std::uint64_t end = copies_.where().end_of_structure(copies_.next_map_area());
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    for (const extent& e : copies_.extents()) {
        if (e.stored)
            end = std::max(end, e.file_offset + e.heap.bytes);
    }
    copies_.retired().for_each(
        [&](std::uint64_t chunk) { end = std::max(end, copies_.other_copy_of(chunk) + chunk_bytes); });
    for (const std::uint64_t chunk : copies_.held_early())
        end = std::max(end, copies_.early_copy_of(chunk) + chunk_bytes);
    copies_.not_yet_free().for_each([&](chunk_range chunks) {
        for (std::uint64_t chunk = chunks.first; chunk < chunks.end(); ++chunk)
            end = std::max(end, end_of_copies(chunk));
    });
    return end;
}

std::uint64_t unused_space::end_of_copies(std::uint64_t chunk) const {
    const layout& where = copies_.where();
    const std::uint64_t at = chunk * where.chunk_bytes();
    const std::uint64_t first = where.copy_in(chunk_place::copy_a, at);
    const std::uint64_t second = where.has_copy_b(chunk) ? where.copy_in(chunk_place::copy_b, at) : 0;
    return std::max(first, second) + where.chunk_bytes();
}

std::vector<heap_range> unused_space::without_held(heap_range heap) const {
    std::vector<heap_range> found = without_early(heap);
    if (copies_.not_yet_free().empty())
        return found;
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    std::vector<heap_range> rest;
    for (const heap_range& each : found) {
        const chunk_range chunks = to_chunks(each, chunk_bytes);
        for (std::uint64_t from = chunks.first; from < chunks.end();) {
            const auto [held, behind] = copies_.not_yet_free().first_within(from, chunks.end());
            if (from < held)
                rest.push_back(to_bytes(chunk_range{from, held - from}, chunk_bytes));
            from = behind;
        }
    }
    return rest;
}

std::vector<heap_range> unused_space::without_early(heap_range heap) const {
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    std::vector<heap_range> found;
    std::uint64_t from = heap.offset;
    const auto add_up_to = [&](std::uint64_t to) {
        if (from < to)
            found.push_back({from, to - from});
    };
    const std::set<std::uint64_t>& early = copies_.held_early();
    for (auto each = early.lower_bound(heap.offset / chunk_bytes);
         each != early.end() && *each * chunk_bytes < heap.end(); ++each) {
        add_up_to(*each * chunk_bytes);
        from = (*each + 1) * chunk_bytes;
    }
    add_up_to(heap.end());
    return found;
}

result<void> unused_space::discard_unstored() {
    has_new_holes_ = true;
    REM_TRY(discard_retired());
    // I5: the file is cut even if it was extended on purpose: if the sync after the extension failed, the length may be
    // in the page cache only, and a commit that relied on it would be lost.
    if (const std::uint64_t end = needed_end(); file_.bytes() > end && !keeps_length_)
        REM_TRY(file_.resize("store: cut off unstored", end));
    REM_TRY(discard_dead_copies());
    for (const extent& e : copies_.extents()) {
        if (!e.stored)
            REM_TRY(discard_copies_a(e.heap));
    }
    return discard_copies_a(behind_image());
}

result<void> unused_space::discard_copies_a(heap_range heap) {
    for (const heap_range& unused : without_held(heap)) {
        REM_TRY(copies_.where().for_each_in_region(unused, [&](heap_range part) {
            return file_.punch("store: punch unstored",
                               {copies_.where().copy_in(chunk_place::copy_a, part.offset), part.bytes},
                               os::unpunchable::is_zeroed);
        }));
    }
    return {};
}

// Discards, in regions with two copies, the copy that each chunk is not in. A chunk that moves there later is written
// whole.
result<void> unused_space::discard_dead_copies() {
    if (!copies_.where().has_copies_b())
        return {};
    for (const extent& e : copies_.extents()) {
        const bool is_at_first =
            e.stored && e.file_offset == copies_.where().copy_in(chunk_place::copy_a, e.heap.offset);
        REM_TRY(discard_copies(e.stored && !is_at_first ? chunk_place::copy_a : chunk_place::copy_b, e.heap));
    }
    return discard_copies(chunk_place::copy_b, behind_image());
}

result<void> unused_space::discard_copies(chunk_place place, heap_range heap) {
    for (const heap_range& unused : without_held(heap)) {
        REM_TRY(copies_.where().for_each_in_region(
            unused, [&](heap_range part) { return discard_copies_but_retired(place, part); }));
    }
    return {};
}

// `heap` lies in one region. Spares the former copies of chunks, which something durable may still name (R3).
result<void> unused_space::discard_copies_but_retired(chunk_place place, heap_range heap) {
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    if (!copies_.where().has_copy_b(heap.offset / chunk_bytes))
        return {};
    for (std::uint64_t from = heap.offset; from < heap.end();) {
        const std::uint64_t left =
            copies_.retired().first_within(from / chunk_bytes, heap.end() / chunk_bytes) * chunk_bytes;
        if (from < left)
            REM_TRY(punch_copies({copies_.where().copy_in(place, from), left - from}));
        from = left + chunk_bytes;
    }
    return {};
}

result<void> unused_space::punch_copies(file_range copies) {
    return file_.punch("store: punch former copies", copies, os::unpunchable::stays);
}

result<void> unused_space::discard_retired() {
    const std::uint64_t chunk_bytes = copies_.where().chunk_bytes();
    const std::vector<std::uint64_t> free = copies_.retired().free_ones(current_.checkpoint_version);
    for (std::size_t i = 0; i < free.size();) {
        file_range run{copies_.other_copy_of(free[i]), chunk_bytes};
        std::size_t end = i + 1;
        for (; end < free.size() && copies_.other_copy_of(free[end]) == run.end(); ++end)
            run.bytes += chunk_bytes;
        REM_TRY(punch_copies(run));
        for (; i < end; ++i)
            copies_.retired().erase(free[i]);
    }
    return {};
}

} // namespace remanence::store
