#include "alloc/occupancy.hpp"

#include "alloc/availability.hpp"
#include "alloc/block_allocator.hpp"

#include <algorithm>

namespace remanence::alloc {

occupancy block_allocator::survey() const {
    occupancy found;
    availability_sum pieces;
    for_each_block([&](const block& each) {
        occupancy::size_class& of = found.classes[occupancy::class_of(each.bytes)];
        ++of.blocks;
        of.bytes += each.bytes;
        ++found.blocks;
        found.allocated_bytes += each.bytes;
    });
    found.slab_free_bytes = pages_.state().allocated_bytes - own_allocated_bytes(); // of blocks not really freed yet
    // Adds the numbers of each arena, except those of its blocks, which are counted above.
    for_each_arena([&](const format::arena_header&, const block_allocator& of) {
        const occupancy in = of.survey();
        found.slabs += in.slabs;
        found.slab_free_bytes += in.slab_free_bytes;
        found.metadata_bytes += in.metadata_bytes;
        found.block_page_bytes += in.block_page_bytes;
    });
    found.metadata_bytes += k_page_bytes;
    for (std::uint32_t index = 0; index < k_section_count; ++index) {
        const section& home = section_at(index);
        const std::uint64_t end = pages_.used_end(home);
        for (std::uint64_t page = home.first_page + (index == 0 ? 1 : 0);
             end > home.first_data_page && page != home.first_data_page; ++page)
            found.metadata_bytes += pages_.is_zero(page * k_page_bytes) ? 0 : k_page_bytes;
        for (std::uint64_t at = home.first_data_page; at < end;) {
            const auto page = static_cast<std::uint32_t>(at);
            const format::page_descriptor& d = pages_.descriptor(page);
            std::uint64_t length = 1;
            if (slabs::is_slab(pages_, page)) {
                ++found.slabs;
                found.slab_free_bytes += d.count * k_granule_bytes;
                length = k_slab_pages;
                slabs_.for_each_hole(page, [&](std::uint64_t bytes) { pieces.add(bytes); });
                for (std::uint32_t i = 0; i != k_slab_pages; ++i)
                    found.block_page_bytes += slabs_.is_free_page(page + i) ? 0 : k_page_bytes;
            } else if (d.kind == format::page_kind::large || d.kind == format::page_kind::free_run) {
                length = d.count;
            }
            if (d.kind == format::page_kind::large && arena_around(pages_.address(page)) == nullptr)
                found.block_page_bytes += length * k_page_bytes;
            if (d.kind == format::page_kind::free_run) {
                pieces.add(length * k_page_bytes);
                ++found.free_runs;
                found.free_run_bytes += length * k_page_bytes;
                found.longest_free_run_bytes = std::max(found.longest_free_run_bytes, length * k_page_bytes);
            }
            at += std::max<std::uint64_t>(length, 1);
        }
    }
    found.availability = pieces.value();
    return found;
}

} // namespace remanence::alloc
