// Small blocks: bump allocation through the holes of one slab after the other. Depends on slab_layout, page_runs and
// heap_pages.
//
// What is allocated together lies together, whatever its sizes: the node of a tree and the strings in it share cache
// lines, and a small transaction changes few pages. (Slabs of one size each spread an address book's entry over four
// pages; docs/design.md has the measurement.) Bits apart from the blocks say what is free, so allocating and freeing
// never touch a data page, and neighbouring free blocks are one hole without further ado.
//
//  B1  Requests are served from the current slab's hole, then from its next hole that is long enough. When none follows,
//      another slab becomes the current one, that with the longest hole. Only when no slab has one that fits, the heap
//      grows by a slab.
//  B2  Every other slab with a free granule is in the list of the bin of its longest hole, and none but the current one
//      is empty: a slab that becomes empty gives its pages back at once. A full slab, and the current one, have no
//      links.
//  B3  A set used bit is a granule of a block, a set start bit its first. A start bit has its used bit. Bits of pages in
//      no slab are zero.
//  B4  Whatever an operation reads through a link is checked before anything is changed (I7). What does not fit is noted
//      as damage.
#pragma once

#include "alloc/bits.hpp"
#include "alloc/heap_pages.hpp"
#include "alloc/page_runs.hpp"
#include "alloc/slab_layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace remanence::alloc {

/// Within the used bits of a slab, in granules; empty when there is none.
struct hole {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] std::uint32_t length() const { return end - begin; }
};

/// The first at `from` or later where `count` granules fit at a multiple of `alignment`. O(granules / 64).
[[nodiscard]] hole find_hole(const std::uint64_t* used, std::uint32_t from, std::uint32_t count,
                             std::uint32_t alignment);
/// Of a slab with so many free granules the longest, or the first that any small block fits in. O(granules / 64 + holes).
[[nodiscard]] hole longest_hole(const std::uint64_t* used, std::uint32_t free_count);

class slabs {
public:
    slabs(heap_pages& pages, page_runs& runs) : pages_(pages), runs_(runs) {}

    /// Both in granules. Null, and nothing has changed, when there is no memory. O(1), but when the current slab is
    /// used up.
    [[nodiscard]] void* allocate(std::uint32_t count, std::uint32_t alignment);
    /// False, and nothing has changed, when no block of that many granules begins there.
    [[nodiscard]] bool deallocate(const void* address, std::uint32_t count);
    /// Gives the current slab back if it is empty.
    void release_empty();

    /// Whether the page, any that is a data page, belongs to a slab.
    [[nodiscard]] bool is_in_slab(std::uint32_t page) const;
    /// Whether no granule of a slab's page is in use.
    [[nodiscard]] bool is_free_page(std::uint32_t page) const;
    /// The block that an offset in a slab lies in, as offsets.
    struct extent {
        std::uint64_t offset;
        std::uint64_t bytes;
    };
    [[nodiscard]] std::optional<extent> block_at(std::uint64_t offset) const;
    void for_each_block(std::uint32_t slab, const std::function<void(extent)>& visit) const;

    /// What a link may lead to: the first page of a slab, all of it accessible.
    [[nodiscard]] static bool is_slab(const heap_pages& pages, std::uint32_t page);

private:
    [[nodiscard, gnu::noinline]] void* allocate_any(std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] void* claim(std::uint32_t begin, std::uint32_t count);
    [[nodiscard, gnu::cold]] void* no_hole(std::uint32_t slab);
    [[nodiscard, gnu::noinline]] void* allocate_elsewhere(std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool advance_in_current(std::uint32_t from, std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool adopt_listed(std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool adopt_from(std::uint32_t bin, std::uint32_t count, std::uint32_t alignment);
    [[nodiscard]] bool adopt_new();
    [[nodiscard]] bool make_current(std::uint32_t slab, hole first);
    [[nodiscard]] bool retire_current();
    void set_hole(hole next);
    /// Of a slab.
    [[nodiscard]] std::uint64_t* changing_bits(const std::uint64_t* bits) const {
        return pages_.changing(bits, k_slab_granules / 64);
    }

    [[nodiscard, gnu::noinline]] bool deallocate_any(const void* address, std::uint32_t count);
    [[nodiscard]] bool move_to_bin(std::uint32_t slab, const std::uint64_t* used, hole freed);
    [[nodiscard]] bool link(std::uint32_t slab, hole longest);
    [[nodiscard]] bool unlink(std::uint32_t slab);
    [[nodiscard]] const format::page_descriptor* linked(std::uint32_t slab, std::uint32_t bin);
    [[nodiscard]] bool release(std::uint32_t slab);
    [[nodiscard, gnu::cold]] bool note_damage(std::uint32_t slab, const char* what);

    heap_pages& pages_;
    page_runs& runs_;
};

namespace detail {

/// For each bin, how long a hole must be for its slab not to stay there. Of numbers that no bin has: any.
inline constexpr auto k_outgrown = [] {
    std::array<std::uint32_t, 256> lengths{}; // for all that a descriptor may say
    for (std::uint32_t bin = 0; bin < k_bin_count; ++bin)
        lengths[bin] = bin + 1 == k_bin_count ? k_slab_granules + 1 : least_of_bin(bin + 1);
    return lengths;
}();

} // namespace detail

// The usual cases of both are here: nobody listens, the block is small and, in its slab, has 64 granules behind it.

inline void* slabs::allocate(std::uint32_t count, std::uint32_t alignment) {
    const format::alloc_state& state = pages_.state();
    const std::uint64_t first = align_up(std::uint64_t{state.hole_begin}, alignment);
    const std::uint32_t slab = state.current_slab;
    const section& home = section_of(slab);
    if (count >= k_word_bits || first + count > std::min(state.hole_end, k_slab_granules - k_word_bits) ||
        pages_.is_heard() || slab % k_slab_pages != 0 || !pages_.are_data_pages(home, slab, k_slab_pages)) [[unlikely]]
        return allocate_any(count, alignment);
    const auto begin = static_cast<std::uint32_t>(first);
    const format::page_descriptor& d = pages_.descriptor(home, slab);
    const std::uint64_t* const used = pages_.used_bits(home, slab);
    const std::uint64_t block = (std::uint64_t{1} << count) - 1;
    if (d.kind != format::page_kind::slab || d.count < count || (window(used, begin) & block) != 0) [[unlikely]]
        return allocate_any(count, alignment);
    set_window(pages_.changing_unheard(used), begin, block);
    set_window(pages_.changing_unheard(pages_.start_bits(home, slab)), begin, 1);
    pages_.changing_unheard(&d)->count -= count;
    format::alloc_state& changing = *pages_.changing_unheard(&state);
    changing.hole_begin = begin + count;
    changing.allocated_bytes += count * k_granule_bytes;
    return pages_.base() + slab * k_page_bytes + begin * k_granule_bytes;
}

// Who frees in random order waits for memory, and the processor runs ahead to the next block that is to be freed only if
// little lies between: a few hundred instructions, and no branch that it cannot foretell. So here the block has as many
// granules before it, too, and its slab, not the current one, stays in its bin.
inline bool slabs::deallocate(const void* address, std::uint32_t count) {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - pages_.base());
    const std::uint64_t page = offset / k_slab_bytes * k_slab_pages;
    const auto begin = static_cast<std::uint32_t>(offset % k_slab_bytes / k_granule_bytes);
    const auto slab = static_cast<std::uint32_t>(page);
    const section& home = section_of(slab);
    if (count >= k_word_bits || begin - k_word_bits >= k_slab_granules - 2 * k_word_bits - count || pages_.is_heard() ||
        page > k_heap_pages_max || !is_aligned(offset, k_granule_bytes) ||
        !pages_.are_data_pages(home, slab, k_slab_pages)) [[unlikely]]
        return deallocate_any(address, count);
    const format::page_descriptor& d = pages_.descriptor(home, slab);
    const std::uint64_t* const used = pages_.used_bits(home, slab);
    const std::uint64_t* const starts = pages_.start_bits(home, slab);
    const std::uint64_t block = (std::uint64_t{1} << count) - 1;
    const std::uint64_t used_here = window(used, begin);
    const std::uint64_t starts_here = window(starts, begin);
    const std::uint64_t begins_or_is_free = starts_here | ~used_here; // of the granule behind the block
    const auto before = static_cast<std::uint32_t>(std::countl_zero(window(used, begin - k_word_bits) | 1));
    const auto behind = static_cast<std::uint32_t>(
        std::countr_zero(window(used, begin + count) | std::uint64_t{1} << (k_word_bits - 1)));
    const format::alloc_state& state = pages_.state();
    if (d.kind != format::page_kind::slab || (~used_here & block) != 0 || (starts_here & block) != 1 ||
        (begins_or_is_free >> count & 1) == 0 || slab == state.current_slab || d.count == 0 ||
        d.count + count >= k_slab_granules || std::max(before, behind) == k_word_bits - 1 ||
        before + count + behind >= detail::k_outgrown[d.bin]) [[unlikely]]
        return deallocate_any(address, count);
    clear_window(pages_.changing_unheard(used), begin, block);
    clear_window(pages_.changing_unheard(starts), begin, 1);
    pages_.changing_unheard(&d)->count += count;
    pages_.changing_unheard(&state)->allocated_bytes -= count * k_granule_bytes;
    return true;
}

} // namespace remanence::alloc
