// Allocates blocks at addresses that the caller names, if these are free. This is for blocks that must keep their place
// when the memory returns to an earlier state. It is rare, so nothing here is fast.

#include "alloc/bits.hpp"
#include "alloc/block_allocator.hpp"

#include <algorithm>

namespace remanence::alloc {

using format::alloc_state;
using format::page_descriptor;
using format::page_kind;

bool block_allocator::allocate_at(void* address, std::size_t bytes, std::size_t alignment) {
    if (block_allocator* const of = arena_around(address))
        return of->allocate_at(address, bytes, alignment);
    flush();
    const std::uint64_t offset = pages_.offset_of(address);
    if (damaged() || offset / k_page_bytes >= k_heap_pages_max || bytes > k_heap_bytes_max)
        return false;
    if (is_small(bytes, alignment))
        return slabs_.allocate_at(offset, granules_of(bytes));
    const std::uint64_t page_count = divide_up(std::max<std::uint64_t>(bytes, 1), k_page_bytes);
    const auto page = static_cast<std::uint32_t>(offset / k_page_bytes);
    if (!is_aligned(offset, k_page_bytes) || !runs_.allocate_at(page, static_cast<std::uint32_t>(page_count)))
        return false;
    mark_large(page, static_cast<std::uint32_t>(page_count));
    pages_.declare(offset, page_count * k_page_bytes);
    pages_.changing_state().allocated_bytes += page_count * k_page_bytes;
    return true;
}

// B2, B3: a slab with free granules is in a list or is the current one, and the block may lie in the current slab's
// hole.
bool slabs::allocate_at(std::uint64_t offset, std::uint32_t count) {
    const std::uint32_t slab = slab_of(static_cast<std::uint32_t>(offset / k_page_bytes));
    const auto begin = static_cast<std::uint32_t>((offset - slab * k_page_bytes) / k_granule_bytes);
    const std::uint32_t end = begin + count;
    if (!is_aligned(offset, k_granule_bytes) || end > k_slab_granules)
        return false;
    const alloc_state& state = pages_.state();
    const bool is_new = !is_slab(pages_, slab);
    if (is_new) {
        if (!runs_.allocate_at(slab, k_slab_pages))
            return false;
        page_descriptor d{};
        d.kind = page_kind::slab;
        d.count = k_slab_granules;
        pages_.set_descriptor(slab, d);
    }
    const section& home = section_of(slab);
    const page_descriptor& d = pages_.descriptor(home, slab);
    const std::uint64_t* const used = pages_.used_bits(home, slab);
    const bool is_current = slab == state.current_slab;
    if (d.count < count || find_set(used, begin, end) != end || (!is_new && !is_current && !unlink(slab)))
        return false;
    set_bits(changing_bits(used), begin, end);
    set_bit(changing_bits(pages_.start_bits(home, slab)), begin);
    pages_.changing(&d)->count -= count;
    pages_.changing_state().allocated_bytes += count * k_granule_bytes;
    if (is_current && begin < state.hole_end && state.hole_begin < end)
        set_hole({end, std::max(end, state.hole_end)});
    if (!is_current && d.count != 0 && !link(slab, longest_hole(used, d.count)))
        return false;
    pages_.declare(offset, count * k_granule_bytes);
    return true;
}

// PR1: no free run reaches the wilderness. So the pages lie either in a free run or in the wilderness.
bool page_runs::allocate_at(std::uint32_t page, std::uint32_t page_count) {
    const section& home = section_of(page);
    const std::uint64_t end = std::uint64_t{page} + page_count;
    if (page < home.first_data_page || end > std::min(home.end_page(), pages_.limit_pages()))
        return false;
    if (page >= pages_.used_end(home))
        return take_wilderness(home, page, page_count) != 0;
    std::optional<run> around;
    if (pages_.state().free_run_root != 0) {
        tree_.for_each(page_count, [&](std::uint32_t first, std::uint32_t count) {
            if (first <= page && end <= std::uint64_t{first} + count)
                around = run{first, count};
        });
    }
    if (!around || pages_.found_damage() || !take_out(*around))
        return false;
    if (around->page != page)
        put_in({around->page, page - around->page});
    if (const std::uint64_t around_end = std::uint64_t{around->page} + around->page_count; around_end != end)
        put_in({static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(around_end - end)});
    return true;
}

} // namespace remanence::alloc
