#include "store/unused_space.hpp"

#include "base/range.hpp"

#include <algorithm>

namespace remanence::store {

result<std::vector<heap_range>> unused_space::forget(heap_range chunks, std::uint64_t version) {
    const std::uint64_t chunk_bytes = homes_.where().chunk_bytes();
    const std::uint64_t end = chunks.end() / chunk_bytes;
    std::vector<heap_range> forgotten;
    for (std::uint64_t chunk = chunks.offset / chunk_bytes; chunk < end;) {
        if (!homes_.is_stored(chunk)) {
            ++chunk;
            continue;
        }
        chunk_range run{chunk, 0};
        for (; chunk < end && homes_.is_stored(chunk); ++chunk)
            ++run.count;
        auto reserved = room_.reserve_to_forget(run);
        if (!reserved && reserved.why().code == errc::io)
            return reserved.error();
        if (!reserved || !homes_.forget(run, version))
            break; // I8
        for (std::uint64_t each = run.first; each < run.end(); ++each)
            REM_TRY(checksums_.clear(each));
        forgotten.push_back(to_bytes(run, chunk_bytes));
    }
    homes_.cut_off_zeros();
    return forgotten;
}

std::uint64_t unused_space::needed_end() const {
    std::uint64_t end = homes_.where().end_of_structure(homes_.next_map_area());
    const std::uint64_t chunk_bytes = homes_.where().chunk_bytes();
    for (const extent& e : homes_.extents()) {
        if (e.stored)
            end = std::max(end, e.file_offset + e.heap.bytes);
    }
    homes_.retired().for_each(
        [&](std::uint64_t chunk) { end = std::max(end, homes_.other_home_of(chunk) + chunk_bytes); });
    for (const std::uint64_t chunk : homes_.held_early())
        end = std::max(end, homes_.early_home_of(chunk) + chunk_bytes);
    return end;
}

std::vector<heap_range> unused_space::without_early(heap_range heap) const {
    const std::uint64_t chunk_bytes = homes_.where().chunk_bytes();
    std::vector<heap_range> found;
    std::uint64_t from = heap.offset;
    const auto add_up_to = [&](std::uint64_t to) {
        if (from < to)
            found.push_back({from, to - from});
    };
    const std::set<std::uint64_t>& early = homes_.held_early();
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
    // I5: also since a longer file may be so in the page cache only, when the sync after an extension failed. A commit
    // that relied on it would be lost.
    if (const std::uint64_t end = needed_end(); file_.bytes() > end)
        REM_TRY(file_.resize("store: cut off unstored", end));
    REM_TRY(discard_dead_homes());
    for (const extent& e : homes_.extents()) {
        if (!e.stored)
            REM_TRY(discard_first_homes(e.heap));
    }
    return discard_first_homes(behind_image());
}

result<void> unused_space::discard_first_homes(heap_range heap) {
    for (const heap_range& unused : without_early(heap)) {
        REM_TRY(homes_.where().for_each_in_region(unused, [&](heap_range part) {
            return file_.punch("store: punch unstored",
                               {homes_.where().home_in(chunk_place::first_home, part.offset), part.bytes},
                               os::unpunchable::is_zeroed);
        }));
    }
    return {};
}

// Homes in which a chunk is not, of regions that have two. What moves there is written whole.
result<void> unused_space::discard_dead_homes() {
    if (!homes_.where().has_second_homes())
        return {};
    for (const extent& e : homes_.extents()) {
        const bool is_at_first =
            e.stored && e.file_offset == homes_.where().home_in(chunk_place::first_home, e.heap.offset);
        REM_TRY(discard_homes(e.stored && !is_at_first ? chunk_place::first_home : chunk_place::second_home, e.heap));
    }
    return discard_homes(chunk_place::second_home, behind_image());
}

result<void> unused_space::discard_homes(chunk_place place, heap_range heap) {
    for (const heap_range& unused : without_early(heap)) {
        REM_TRY(homes_.where().for_each_in_region(
            unused, [&](heap_range part) { return discard_homes_but_retired(place, part); }));
    }
    return {};
}

// Of one region. Homes that chunks left may be named by something durable (R3).
result<void> unused_space::discard_homes_but_retired(chunk_place place, heap_range heap) {
    const std::uint64_t chunk_bytes = homes_.where().chunk_bytes();
    if (!homes_.where().has_second_home(heap.offset / chunk_bytes))
        return {};
    for (std::uint64_t from = heap.offset; from < heap.end();) {
        const std::uint64_t left =
            homes_.retired().first_within(from / chunk_bytes, heap.end() / chunk_bytes) * chunk_bytes;
        if (from < left)
            REM_TRY(punch_homes({homes_.where().home_in(place, from), left - from}));
        from = left + chunk_bytes;
    }
    return {};
}

result<void> unused_space::punch_homes(file_range homes) {
    return file_.punch("store: punch former homes", homes, os::unpunchable::stays);
}

result<void> unused_space::discard_retired() {
    const std::uint64_t chunk_bytes = homes_.where().chunk_bytes();
    const std::vector<std::uint64_t> free = homes_.retired().free_ones(ruling_.checkpoint_version);
    for (std::size_t i = 0; i < free.size();) {
        file_range run{homes_.other_home_of(free[i]), chunk_bytes};
        std::size_t end = i + 1;
        for (; end < free.size() && homes_.other_home_of(free[end]) == run.end(); ++end)
            run.bytes += chunk_bytes;
        REM_TRY(punch_homes(run));
        for (; i < end; ++i)
            homes_.retired().erase(free[i]);
    }
    return {};
}

} // namespace remanence::store
