#include "store/commit_room.hpp"

#include "base/range.hpp"
#include "store/superblocks.hpp"

#include <algorithm>

namespace remanence::store {

using format::region;
using format::superblock;

unexpected commit_room::exhausted() const {
    return fail(errc::exhausted,
                file_.path() + " has reached the largest size of its format. Split the data over several heaps.",
                file_.path());
}

result<void> commit_room::add_regions(std::uint64_t heap_bytes) {
    const std::uint64_t have = copies_.where().region_bytes();
    if (heap_bytes <= have)
        return {};
    superblock next = supers_.current();
    if (next.region_count == next.regions.size() || heap_bytes > k_layout_bytes_max)
        return exhausted();
    // Grows by at least half of the heap's size, so that even a large heap has few regions. The unused part is a hole.
    region r{};
    r.heap_offset = have;
    r.bytes = align_up(std::max(heap_bytes - have, std::min(have / 2, k_layout_bytes_max - have)),
                       format::k_region_alignment);
    r.table_offset = copies_.file_end();
    r.copy_a_offset = align_up(r.table_offset + checksum_table::file_bytes(r.bytes), format::k_copy_alignment);
    if (r.copy_a_offset > k_layout_bytes_max)
        return exhausted();
    next.regions[next.region_count++] = r;
    REM_TRY(supers_.write(next));
    checksums_.add_region();
    return {};
}

bool commit_room::needs_copies_b(std::span<const std::uint64_t> chunks) const {
    return !std::ranges::all_of(chunks, [&](std::uint64_t chunk) { return copies_.where().has_copy_b(chunk); });
}

result<void> commit_room::add_copies_b(std::span<const std::uint64_t> chunks) {
    superblock next = supers_.current();
    std::uint64_t end = copies_.file_end();
    for (const std::uint64_t chunk : chunks) {
        const std::size_t index = copies_.where().region_index(chunk * next.chunk_bytes);
        if (next.copy_b_offsets[index] != 0)
            continue;
        next.copy_b_offsets[index] = align_up(end, format::k_copy_alignment);
        end = next.copy_b_offsets[index] + next.regions[index].bytes;
        if (next.copy_b_offsets[index] > k_layout_bytes_max)
            return exhausted();
    }
    if (next.copy_b_offsets == supers_.current().copy_b_offsets)
        return {};
    next.features_incompat |= format::k_feature_copy_b;
    return supers_.write(next);
}

result<void> commit_room::reserve_pages(std::uint64_t first_page, std::uint64_t count) {
    if (file_.file().fills_holes_when_read()) { // whole chunks: reading a hole of a mapping allocates space
        const std::uint64_t end = align_up(first_page + count, copies_.where().chunk_pages());
        first_page = align_down(first_page, copies_.where().chunk_pages());
        count = end - first_page;
    }
    REM_TRY(file_.reserve("store: reserve pages", {copies_.copy_of(first_page * k_page_bytes), count * k_page_bytes}));
    // Copies B of two regions may be adjacent, so the pages may cross regions. A leaf covers pages of one region only.
    for (std::uint64_t page = first_page; page < first_page + count; page += format::k_leaf_pages)
        REM_TRY(checksums_.reserve(page));
    return checksums_.reserve(first_page + count - 1);
}

result<void> commit_room::extend_to_fresh(std::uint64_t chunk) { return file_.extend_to(copies_.end_of_copy(chunk)); }

result<void> commit_room::reserve_places() {
    if (places_reserved_)
        return {};
    const format::map_reference& area = copies_.next_map_area();
    REM_TRY(file_.file().reserve("store: reserve superblocks", 0, format::k_first_table_offset));
    if (area.area_offset >= format::k_first_table_offset) {
        REM_TRY(file_.file().reserve("store: reserve chunk map again", area.area_offset, 2 * area.slot_bytes));
    }
    places_reserved_ = true;
    return {};
}

result<void> commit_room::reserve_map(std::uint64_t more) {
    std::uint64_t bytes = (copies_.map().exceptions().size() + more) * sizeof(format::chunk_exception);
    bytes = std::min(bytes, align_up(chunk_map::k_exceptions_max * sizeof(format::chunk_exception), k_page_bytes));
    format::map_reference area = copies_.next_map_area();
    if (bytes <= area.slot_bytes)
        return {};
    area.area_offset = copies_.file_end();
    area.slot_bytes = align_up(2 * bytes, k_page_bytes);
    if (area.area_offset > k_layout_bytes_max)
        return exhausted();
    REM_TRY(file_.reserve("store: reserve larger chunk map", {area.area_offset, 2 * area.slot_bytes}));
    copies_.use_map_area(area); // I8: the old area stays as it is
    return {};
}

bool commit_room::return_map() {
    const std::uint64_t bytes = copies_.map().exceptions().size_bytes();
    if (copies_.next_map_area().area_offset == format::k_first_map_offset || bytes > format::k_first_map_slot_bytes)
        return false;
    copies_.use_map_area({.area_offset = format::k_first_map_offset, .slot_bytes = format::k_first_map_slot_bytes});
    copies_.map().note_moved();
    return true;
}

result<bool> commit_room::remove_regions() {
    superblock next = supers_.current();
    while (next.region_count > 1 && copies_.holds_nothing_from(next.regions[next.region_count - 1].heap_offset)) {
        --next.region_count;
        next.regions[next.region_count] = {};
        next.copy_b_offsets[next.region_count] = 0;
    }
    if (next.region_count == supers_.current().region_count)
        return false;
    REM_TRY(supers_.write(next));
    checksums_.forget_regions();
    return true;
}

result<void> commit_room::reserve_move(std::uint64_t first_chunk, std::uint64_t count) {
    REM_TRY(file_.reserve("store: reserve relocated extents",
                          {copies_.other_copy_of(first_chunk), count * copies_.where().chunk_bytes()}));
    for (std::uint64_t chunk = first_chunk; chunk < first_chunk + count; ++chunk)
        REM_TRY(checksums_.reserve(chunk * copies_.where().chunk_pages())); // one leaf has all checksums of a chunk
    return {};
}

result<void> commit_room::reserve_to_give_back(chunk_range chunks, std::uint64_t runs) {
    REM_TRY(reserve_map(2 * runs)); // a run that is split in the middle becomes three
    for (std::uint64_t chunk = chunks.first; chunk < chunks.end(); ++chunk)
        REM_TRY(checksums_.reserve(chunk * copies_.where().chunk_pages())); // one leaf has all checksums of a chunk
    return {};
}

} // namespace remanence::store
