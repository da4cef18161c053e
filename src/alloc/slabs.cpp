#include "alloc/slabs.hpp"

#include "alloc/bits.hpp"

#include <bit>
#include <utility>

namespace remanence::alloc {

using format::alloc_state;
using format::page_descriptor;
using format::page_kind;

hole find_hole(const std::uint64_t* used, std::uint32_t from, std::uint32_t count, std::uint32_t alignment) {
    while (from < k_slab_granules) {
        const std::uint32_t clear = find_clear(used, from, k_slab_granules);
        const auto begin = static_cast<std::uint32_t>(align_up(clear, alignment));
        if (begin + count > k_slab_granules)
            break;
        const std::uint32_t end = find_set(used, clear, k_slab_granules);
        if (begin + count <= end)
            return {begin, end};
        from = end;
    }
    return {};
}

hole longest_hole(const std::uint64_t* used, std::uint32_t free_count) {
    hole longest;
    std::uint32_t at = 0;
    while (longest.length() < std::min(free_count, k_small_granules_max) && at < k_slab_granules) {
        const std::uint32_t begin = find_clear(used, at, k_slab_granules);
        at = find_set(used, begin, k_slab_granules);
        if (at - begin > longest.length())
            longest = {begin, at};
        free_count -= std::min(free_count, at - begin); // free granules that remain to be found
    }
    return longest;
}

bool slabs::is_slab(const heap_pages& pages, std::uint32_t page) {
    const section& home = section_of(page);
    return page == slab_of(page) && pages.are_data_pages(home, page, k_slab_pages) &&
           pages.descriptor(home, page).kind == page_kind::slab;
}

bool slabs::note_damage(std::uint32_t slab, const char* what) {
    pages_.note_damage_of_page(slab, what);
    return false;
}

// --- allocation

void* slabs::allocate_in_hole(std::uint32_t count, std::uint32_t alignment) {
    const alloc_state& state = pages_.state();
    const std::uint64_t begin = align_up(std::uint64_t{state.hole_begin}, alignment);
    if (begin + count > std::min(state.hole_end, k_slab_granules)) [[unlikely]]
        return allocate_elsewhere(count, alignment);
    return claim(static_cast<std::uint32_t>(begin), count);
}

// Allocates granules that lie in the current slab's hole.
[[gnu::always_inline]] inline void* slabs::claim(std::uint32_t begin, std::uint32_t count) {
    const std::uint32_t slab = pages_.state().current_slab;
    if (!is_slab(pages_, slab)) [[unlikely]]
        return no_hole(slab);
    const section& home = section_of(slab);
    const page_descriptor& d = pages_.descriptor(home, slab);
    const std::uint64_t* const used = pages_.used_bits(home, slab);
    const std::uint64_t* const starts = pages_.start_bits(home, slab);
    if (count < k_window_bits && begin <= k_slab_granules - k_word_bits) [[likely]] {
        const std::uint64_t block = (std::uint64_t{1} << count) - 1;
        if (d.count < count || (window_from(used, begin) & block) != 0) [[unlikely]]
            return no_hole(slab);
        set_in_window(changing_bits(used), begin, block);
        set_in_window(changing_bits(starts), begin, 1);
    } else {
        if (d.count < count || find_set(used, begin, begin + count) != begin + count)
            return no_hole(slab);
        set_bits(changing_bits(used), begin, begin + count);
        set_bit(changing_bits(starts), begin);
    }
    pages_.changing(&d)->count -= count;
    alloc_state& state = pages_.changing_state();
    state.hole_begin = begin + count;
    state.allocated_bytes += count * k_granule_bytes;
    const std::uint64_t offset = slab * k_page_bytes + begin * k_granule_bytes;
    pages_.declare(offset, count * k_granule_bytes);
    return pages_.base() + offset;
}

void* slabs::no_hole(std::uint32_t slab) {
    pages_.note_damage_of_page(slab, "the current slab is none, or its hole not free");
    return nullptr;
}

void* slabs::allocate_elsewhere(std::uint32_t count, std::uint32_t alignment) {
    if (pages_.found_damage())
        return nullptr;
    const std::uint32_t hole_end = pages_.state().hole_end;
    if (advance_in_current(hole_end, count, alignment) || adopt_listed(count, alignment) ||
        advance_in_current(0, count, alignment) || adopt_new()) // B1
        return claim(pages_.state().hole_begin, count);
    return flush() ? allocate_in_hole(count, alignment) : nullptr; // M3
}

bool slabs::advance_in_current(std::uint32_t from, std::uint32_t count, std::uint32_t alignment) {
    const alloc_state& state = pages_.state();
    if (state.current_slab == 0 || pages_.found_damage())
        return false;
    if (!is_slab(pages_, state.current_slab))
        return note_damage(state.current_slab, "the current slab is none");
    if (pages_.descriptor(state.current_slab).count < count)
        return false;
    const std::uint64_t* const used = pages_.used_bits(section_of(state.current_slab), state.current_slab);
    const hole next = find_hole(used, from, count, alignment);
    if (next.length() == 0)
        return false;
    set_hole(next);
    return true;
}

void slabs::set_hole(hole next) {
    alloc_state& state = pages_.changing_state();
    state.hole_begin = next.begin;
    state.hole_end = next.end;
}

// Because of the alignment, a block may not fit into the longest hole of a slab although that hole is long enough; but
// it fits if the hole has room to shift the block. So at most the first few bins are searched in vain.
bool slabs::adopt_listed(std::uint32_t count, std::uint32_t alignment) {
    const std::uint32_t sure = count + alignment - 1;
    const std::uint32_t first = bin_of(alignment <= k_line_granules ? count : sure);
    std::uint64_t left = pages_.state().used_bins & (~std::uint64_t{0} << first);
    while (left != 0 && !pages_.found_damage()) {
        const auto bin = static_cast<std::uint32_t>(63 - std::countl_zero(left));
        if (adopt_from(bin, count, alignment))
            return true;
        left &= ~(std::uint64_t{1} << bin);
    }
    return false;
}

bool slabs::adopt_from(std::uint32_t bin, std::uint32_t count, std::uint32_t alignment) {
    const std::uint32_t slab = bin < k_bin_count ? pages_.state().slab_head[bin] : 0;
    const page_descriptor* const d = linked(slab, bin);
    if (d == nullptr)
        return false;
    const hole found = find_hole(pages_.used_bits(section_of(slab), slab), d->hole, count, alignment);
    if (found.length() == 0) {
        return least_of_bin(bin) >= count + alignment - 1 &&
               note_damage(slab, "a slab's longest hole is shorter than its list says");
    }
    return unlink(slab) && make_current(slab, found);
}

bool slabs::adopt_new() {
    if (pages_.found_damage())
        return false;
    const std::uint32_t slab = runs_.allocate(k_slab_pages, k_slab_pages);
    if (slab == 0)
        return false;
    page_descriptor d{};
    d.kind = page_kind::slab;
    d.count = k_slab_granules;
    pages_.set_descriptor(slab, d); // its bits are zero (B3)
    return make_current(slab, {0, k_slab_granules});
}

bool slabs::make_current(std::uint32_t slab, hole first) {
    if (!retire_current())
        return false;
    pages_.changing_state().current_slab = slab;
    set_hole(first);
    return true;
}

// After this, no slab is current (B2).
bool slabs::retire_current() {
    const std::uint32_t slab = std::exchange(pages_.changing_state().current_slab, 0U);
    set_hole({});
    if (slab == 0)
        return true;
    if (!is_slab(pages_, slab))
        return note_damage(slab, "the current slab is none");
    const std::uint32_t free_count = pages_.descriptor(slab).count;
    if (free_count == k_slab_granules)
        return release(slab);
    const hole longest = longest_hole(pages_.used_bits(section_of(slab), slab), free_count);
    return longest.length() == 0 || link(slab, longest);
}

// --- deallocation

/// True if the windows of bits before a granule, and from it on, lie in its slab.
static constexpr bool has_windows(std::uint32_t granule) {
    return granule >= k_word_bits && granule <= k_slab_granules - k_word_bits;
}

/// True if the first granules of the windows are a block of less than `k_window_bits`. Has no branches, because they
/// would be unpredictable.
[[gnu::always_inline]] static inline bool is_block(std::uint64_t in_use, std::uint64_t begun, std::uint32_t count) {
    const std::uint64_t inside = in_use & ~begun; // granules of a block, except its first
    const std::uint64_t first = 1;
    const std::uint64_t behind = first << count;
    return (in_use & first) != 0 && (inside & (behind | (behind - 1))) == behind - 1 - first;
}

bool is_block(const std::uint64_t* used, const std::uint64_t* starts, hole place) {
    const bool is_longer = place.end < k_slab_granules && is_set(used, place.end) && !is_set(starts, place.end);
    return !is_longer && is_set(starts, place.begin) && find_set(starts, place.begin + 1, place.end) == place.end &&
           find_clear(used, place.begin, place.end) == place.end;
}

/// The place of a block; there is none if `slab` is 0.
struct slabs::place {
    std::uint32_t slab;
    std::uint32_t begin; // in granules
    std::uint32_t end;
    const page_descriptor* descriptor; // the slab's; the slab is accessible as a whole
    const std::uint64_t* used;
    const std::uint64_t* starts;
};

inline slabs::place slabs::place_of(const void* address, std::uint32_t count) const {
    const std::uint64_t offset = pages_.offset_of(address);
    const std::uint64_t page = offset / k_page_bytes;
    const std::uint32_t slab = slab_of(static_cast<std::uint32_t>(page));
    if (page > k_heap_pages_max || !is_aligned(offset, k_granule_bytes) || !is_slab(pages_, slab)) [[unlikely]]
        return {};
    const auto begin = static_cast<std::uint32_t>((offset - slab * k_page_bytes) / k_granule_bytes);
    const std::uint32_t end = begin + count;
    const section& home = section_of(slab);
    const std::uint64_t* const used = pages_.used_bits(home, slab);
    const std::uint64_t* const starts = pages_.start_bits(home, slab);
    if (end > k_slab_granules || !is_block(used, starts, {begin, end})) [[unlikely]]
        return {};
    return {slab, begin, end, &pages_.descriptor(home, slab), used, starts};
}

/// True if a listed slab certainly stays in its bin when the `count` granules between these two windows become free.
[[gnu::always_inline]] static inline bool stays_in_bin(const page_descriptor& d, std::uint64_t before,
                                                       std::uint64_t behind, std::uint32_t count) {
    if (d.count == 0 || d.count + count == k_slab_granules)
        return false;
    if (d.bin == k_bin_count - 1)
        return true;
    const std::uint32_t length = static_cast<std::uint32_t>(std::countl_zero(before)) + count +
                                 static_cast<std::uint32_t>(std::countr_zero(behind));
    return before != 0 && behind != 0 && bin_of(length) <= d.bin;
}

// Moves a slab, which is not the current one, to the bin of the hole that it is about to get. The granules are still in
// use.
inline bool slabs::move_to_bin(const place& freed) {
    const page_descriptor& d = *freed.descriptor;
    if (d.count != 0 && d.bin == k_bin_count - 1)
        return true; // it stays in the last bin, since its longest hole does not shrink
    const hole around{behind_last_set(freed.used, 0, freed.begin), find_set(freed.used, freed.end, k_slab_granules)};
    if (d.count == 0)
        return link(freed.slab, around);
    return bin_of(around.length()) <= d.bin || (unlink(freed.slab) && link(freed.slab, around));
}

[[gnu::always_inline]] inline void slabs::note_freed(const page_descriptor& d, std::uint32_t count, bool is_current,
                                                     std::uint32_t begin) {
    pages_.changing(&d)->count += count;
    alloc_state& state = pages_.changing_state();
    state.allocated_bytes -= count * k_granule_bytes;
    if (is_current && begin + count == state.hole_begin)
        state.hole_begin = begin; // the block freed last is allocated first
}

void slabs::free_block(const place& at) {
    const std::uint32_t count = at.end - at.begin;
    const bool is_current = at.slab == pages_.state().current_slab;
    const bool becomes_empty = at.descriptor->count + count == k_slab_granules;
    if (!is_current && !(becomes_empty ? unlink(at.slab) : move_to_bin(at))) [[unlikely]]
        return; // B4: the block leaks
    clear_bits(changing_bits(at.used), at.begin, at.end);
    clear_bit(changing_bits(at.starts), at.begin);
    note_freed(*at.descriptor, count, is_current, at.begin);
    if (!is_current && becomes_empty)
        static_cast<void>(release(at.slab)); // damage is noted already
}

// Frees a block in the most frequent case: it has few granules, and the windows lie within the slab. Returns false, and
// has changed nothing, in other cases, and if there is no such block.
[[gnu::always_inline]] inline bool slabs::deallocate_quickly(void* address, std::uint32_t count) {
    const std::uint64_t offset = pages_.offset_of(address);
    const std::uint64_t page = offset / k_page_bytes;
    const std::uint32_t slab = slab_of(static_cast<std::uint32_t>(page));
    const auto begin = static_cast<std::uint32_t>(offset % k_slab_bytes / k_granule_bytes);
    if (count >= k_window_bits || !has_windows(begin) || !is_aligned(offset, k_granule_bytes) ||
        page > k_heap_pages_max || !is_slab(pages_, slab)) [[unlikely]]
        return false;
    const section& home = section_of(slab);
    const std::uint64_t* const used = pages_.used_bits(home, slab);
    const std::uint64_t* const starts = pages_.start_bits(home, slab);
    const std::uint64_t in_use = window_from(used, begin);
    if (!is_block(in_use, window_from(starts, begin), count)) [[unlikely]]
        return false;
    if (kept_.put(address, count))
        return true;
    const page_descriptor& d = pages_.descriptor(home, slab);
    const bool is_current = slab == pages_.state().current_slab;
    if (is_current || stays_in_bin(d, window_before(used, begin), in_use >> count, count)) [[likely]] {
        clear_in_window(changing_bits(used), begin, (std::uint64_t{1} << count) - 1);
        clear_in_window(changing_bits(starts), begin, 1);
        note_freed(d, count, is_current, begin);
    } else {
        free_block({slab, begin, begin + count, &d, used, starts});
    }
    return true;
}

bool slabs::deallocate(void* address, std::uint32_t count) {
    if (kept_.holds(address, count)) [[unlikely]]
        return false;
    return deallocate_quickly(address, count) || deallocate_any(address, count);
}

bool slabs::deallocate_any(void* address, std::uint32_t count) {
    const place at = place_of(address, count);
    if (at.slab == 0) [[unlikely]]
        return false;
    if (!kept_.put(address, count))
        free_block(at);
    return true;
}

// All addresses in magazines were blocks when they were put there. If one is no block now, the program has overwritten
// the bits.
bool slabs::flush() {
    if (kept_.is_surely_empty())
        return false;
    kept_.take_all([this](void* address, std::uint32_t count) {
        const place at = place_of(address, count);
        if (at.slab != 0)
            free_block(at);
        else
            pages_.note_damage(pages_.offset_of(address), "a freed address is not an allocated block");
    });
    return !pages_.found_damage();
}

// The bytes in holes are those of used pages that are neither allocated nor in a free run. The first MiB of holes is
// always accepted, so that each thread may have a slab.
bool slabs::may_grow_to_lend() const {
    const alloc_state& state = pages_.state();
    std::uint64_t pages = 0;
    for (const std::uint32_t each : state.used_pages)
        pages += each;
    const std::uint64_t holes = (pages - state.free_pages) * k_page_bytes - state.allocated_bytes;
    return holes <= MiB + state.allocated_bytes / 8;
}

[[gnu::cold]] bool slabs::lend(lent_slab& to, std::uint32_t count, std::uint32_t alignment) {
    const alloc_state& state = pages_.state();
    const bool has_ample = is_set(&state.used_bins, k_bin_count - 1);
    if (!is_current_ample() && !has_ample && !may_grow_to_lend())
        return false;
    static_cast<void>(flush()); // otherwise a block in a magazine may lie in the hole
    const bool has_hole = is_current_ample() ? advance_in_current(state.hole_begin, count, alignment)
                                             : has_ample && adopt_listed(count, alignment);
    if ((!has_hole && !adopt_new()) || pages_.found_damage())
        return false;
    const section& home = section_of(state.current_slab);
    to.page_ = state.current_slab;
    to.first_ = pages_.address(to.page_);
    to.descriptor_ = pages_.changing(&pages_.descriptor(home, to.page_));
    to.used_ = changing_bits(pages_.used_bits(home, to.page_));
    to.starts_ = changing_bits(pages_.start_bits(home, to.page_));
    to.hole_begin_ = state.hole_begin;
    to.hole_end_ = state.hole_end;
    pages_.changing_state().current_slab = 0;
    set_hole({});
    return true;
}

[[gnu::cold]] void slabs::take_back(lent_slab& from) {
    const lent_slab back = std::exchange(from, {});
    if (pages_.found_damage())
        return;
    const auto bytes = static_cast<std::uint64_t>(back.granules_) * k_granule_bytes; // modulo 2⁶⁴, if it is negative
    pages_.changing_state().allocated_bytes += bytes;
    static_cast<void>(make_current(back.page_, {back.hole_begin_, back.hole_end_})); // damage is noted already
}

// Precondition: the slab is empty and has no links.
bool slabs::release(std::uint32_t slab) {
    const section& home = section_of(slab);
    if (slab + std::uint64_t{k_slab_pages} > pages_.used_end(home))
        return note_damage(slab, "a slab is longer than its section");
    if (find_set(pages_.used_bits(home, slab), 0, k_slab_granules) != k_slab_granules)
        return note_damage(slab, "an empty slab has blocks");
    pages_.set_descriptor(slab, {});
    runs_.release(slab, k_slab_pages);
    return !pages_.found_damage();
}

void slabs::release_empty() {
    const std::uint32_t slab = pages_.state().current_slab;
    if (!pages_.found_damage() && slab != 0 && is_slab(pages_, slab) &&
        pages_.descriptor(slab).count == k_slab_granules)
        static_cast<void>(retire_current()); // damage is noted already
}

// --- lists

// Checks a slab that a link leads to (B4); returns null, and notes the damage, if it is no listed slab.
const page_descriptor* slabs::linked(std::uint32_t slab, std::uint32_t bin) {
    if (is_slab(pages_, slab) && slab != pages_.state().current_slab) {
        const page_descriptor& d = pages_.descriptor(slab);
        if (d.bin == bin && d.count != 0)
            return &d;
    }
    pages_.note_damage_of_page(slab, "a link in a list of slabs is wrong");
    return nullptr;
}

bool slabs::link(std::uint32_t slab, hole longest) {
    const std::uint32_t bin = bin_of(longest.length());
    const std::uint32_t after = pages_.state().slab_head[bin];
    if (after != 0) {
        const page_descriptor* const next = linked(after, bin);
        if (next == nullptr)
            return false;
        pages_.changing(next)->before = slab;
    }
    page_descriptor& d = *pages_.changing(&pages_.descriptor(slab));
    d.bin = static_cast<std::uint8_t>(bin);
    d.hole = static_cast<std::uint16_t>(longest.begin);
    d.before = 0;
    d.after = after;
    alloc_state& state = pages_.changing_state();
    state.slab_head[bin] = slab;
    state.used_bins |= std::uint64_t{1} << bin;
    return true;
}

bool slabs::unlink(std::uint32_t slab) {
    const page_descriptor& of = pages_.descriptor(slab);
    if (of.bin >= k_bin_count)
        return note_damage(slab, "a slab is in a list that does not exist");
    const std::uint32_t* to_this = &pages_.state().slab_head[of.bin];
    if (of.before != 0) {
        const page_descriptor* const previous = linked(of.before, of.bin);
        if (previous == nullptr)
            return false;
        to_this = &previous->after;
    }
    const page_descriptor* const next = of.after == 0 ? nullptr : linked(of.after, of.bin);
    if (*to_this != slab || (of.after != 0 && (next == nullptr || next->before != slab)))
        return note_damage(slab, "the links of a list of slabs disagree");
    *pages_.changing(to_this) = of.after;
    if (next != nullptr)
        pages_.changing(next)->before = of.before;
    if (pages_.state().slab_head[of.bin] == 0)
        pages_.changing_state().used_bins &= ~(std::uint64_t{1} << of.bin);
    page_descriptor& d = *pages_.changing(&of);
    d.bin = 0;
    d.hole = 0;
    d.before = 0;
    d.after = 0;
    return true;
}

// --- looking up

bool slabs::is_in_slab(std::uint32_t page) const { return is_slab(pages_, slab_of(page)); }

bool slabs::is_free_page(std::uint32_t page) const {
    constexpr std::uint32_t k_page_granules = k_page_bytes / k_granule_bytes;
    return find_set(pages_.used_bits(section_of(page), page), 0, k_page_granules) == k_page_granules;
}

std::optional<slabs::extent> slabs::block_at(std::uint64_t offset) const {
    const std::uint32_t slab = slab_of(static_cast<std::uint32_t>(offset / k_page_bytes));
    const std::uint64_t* const used = pages_.used_bits(section_of(slab), slab);
    const std::uint64_t* const starts = pages_.start_bits(section_of(slab), slab);
    const std::uint64_t slab_offset = slab * k_page_bytes;
    const auto granule = static_cast<std::uint32_t>((offset - slab_offset) / k_granule_bytes);
    const std::uint32_t behind_start = behind_last_set(starts, 0, granule + 1);
    if (behind_start == 0 || find_clear(used, behind_start - 1, granule + 1) != granule + 1)
        return {};
    const std::uint32_t next = find_set(starts, behind_start, k_slab_granules);
    const std::uint32_t end = find_clear(used, granule, next);
    if (end - behind_start >= k_small_granules_max) // B4: no block is that long
        return {};
    return extent{slab_offset + (behind_start - 1) * k_granule_bytes, (end - behind_start + 1) * k_granule_bytes};
}

void slabs::for_each_block(std::uint32_t slab, const std::function<void(extent)>& visit) const {
    const std::uint64_t* const starts = pages_.start_bits(section_of(slab), slab);
    for (std::uint32_t at = 0; (at = find_set(starts, at, k_slab_granules)) < k_slab_granules; ++at) {
        if (const auto found = block_at(slab * k_page_bytes + at * k_granule_bytes))
            visit(*found);
    }
}

void slabs::for_each_hole(std::uint32_t slab, const std::function<void(std::uint64_t bytes)>& visit) const {
    const std::uint64_t* const used = pages_.used_bits(section_of(slab), slab);
    std::uint32_t end = 0;
    for (std::uint32_t at = 0; (at = find_clear(used, end, k_slab_granules)) < k_slab_granules;) {
        end = find_set(used, at, k_slab_granules);
        visit((end - at) * k_granule_bytes);
    }
}

} // namespace remanence::alloc
