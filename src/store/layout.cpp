#include "store/layout.hpp"

#include "base/assert.hpp"
#include "store/checksum_table.hpp"

#include <algorithm>

namespace remanence::store {

using format::region;

std::uint64_t layout::region_bytes() const {
    if (super_.region_count == 0)
        return 0;
    const region& last = super_.regions[super_.region_count - 1];
    return last.heap_offset + last.bytes;
}

std::size_t layout::region_index(std::uint64_t heap_offset) const {
    REM_ASSERT(heap_offset < region_bytes());
    auto end = super_.regions.begin() + static_cast<std::ptrdiff_t>(super_.region_count);
    auto after = std::upper_bound(super_.regions.begin(), end, heap_offset,
                                  [](std::uint64_t offset, const region& r) { return offset < r.heap_offset; });
    return static_cast<std::size_t>(after - super_.regions.begin()) - 1;
}

std::uint64_t layout::copy_in(chunk_place place, std::uint64_t heap_offset) const {
    const std::size_t index = region_index(heap_offset);
    const region& r = super_.regions[index];
    const std::uint64_t begin = place == chunk_place::copy_b ? super_.copy_b_offsets[index] : r.copy_a_offset;
    return begin + (heap_offset - r.heap_offset);
}

std::vector<layout::copies> layout::all_copies() const {
    std::vector<copies> found;
    for (std::size_t i = 0; i < super_.region_count; ++i) {
        const region& r = super_.regions[i];
        found.push_back({{r.copy_a_offset, r.bytes}, r.heap_offset, chunk_place::copy_a});
        if (super_.copy_b_offsets[i] != 0)
            found.push_back({{super_.copy_b_offsets[i], r.bytes}, r.heap_offset, chunk_place::copy_b});
    }
    std::ranges::sort(found, {}, [](const copies& each) { return each.file.offset; });
    return found;
}

std::uint64_t layout::end_of_areas(const format::map_reference& next_map) const {
    std::uint64_t end = format::k_first_table_offset;
    for (const auto& area : {super_.map, next_map})
        end = std::max(end, area.area_offset + 2 * area.slot_bytes);
    for (const format::area_reference& page : {super_.history, super_.log_directory})
        end = std::max(end, page.offset + page.bytes);
    return end;
}

std::uint64_t layout::end(const format::map_reference& next_map) const {
    std::uint64_t end = end_of_areas(next_map);
    for (std::size_t i = 0; i < super_.region_count; ++i) // runs at each commit; all_copies() would allocate
        end = std::max(end,
                       std::max(super_.regions[i].copy_a_offset, super_.copy_b_offsets[i]) + super_.regions[i].bytes);
    return end;
}

std::uint64_t layout::end_of_structure(const format::map_reference& next_map) const {
    std::uint64_t end = end_of_areas(next_map);
    for (std::size_t i = 0; i < super_.region_count; ++i)
        end = std::max(end, super_.regions[i].table_offset + checksum_table::file_bytes(super_.regions[i].bytes));
    return end;
}

} // namespace remanence::store
