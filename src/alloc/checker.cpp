#include "alloc/checker.hpp"

#include "alloc/bits.hpp"
#include "alloc/block_allocator.hpp"
#include "alloc/run_tree.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace remanence::alloc {

using format::alloc_state;
using format::page_descriptor;
using format::page_kind;

namespace {

std::uint64_t run_end(std::uint32_t page, const page_descriptor& d) { return page + std::uint64_t{d.count}; }

} // namespace

bool checker::is_free_run(const heap_pages& pages, std::uint32_t page) {
    const page_descriptor* const d = pages.used_descriptor(page);
    return d != nullptr && d->kind == page_kind::free_run && d->count != 0 &&
           run_end(page, *d) <= pages.used_end(section_of(page));
}

bool checker::is_listed_slab(const heap_pages& pages, std::uint32_t page, std::uint32_t bin) {
    if (!slabs::is_slab(pages, page) || page + std::uint64_t{k_slab_pages} > pages.used_end(section_of(page)))
        return false;
    const page_descriptor& d = pages.descriptor(page);
    return d.bin == bin && d.count != 0 && d.count < k_slab_granules && page != pages.state().current_slab;
}

bool checker::is_current_slab(const heap_pages& pages) {
    const alloc_state& state = pages.state();
    const std::uint32_t slab = state.current_slab;
    if (slab == 0)
        return state.hole_begin == 0 && state.hole_end == 0;
    return slabs::is_slab(pages, slab) && slab + std::uint64_t{k_slab_pages} <= pages.used_end(section_of(slab)) &&
           state.hole_begin <= state.hole_end && state.hole_end <= k_slab_granules &&
           find_set(pages.used_bits(section_of(slab), slab), state.hole_begin, state.hole_end) == state.hole_end;
}

std::size_t checker::run() {
    for (std::uint32_t i = 0; i < k_section_count && !is_full(); ++i)
        check_section(section_at(i));
    for (std::uint32_t i = 0; i < k_bin_count && !is_full(); ++i)
        check_list(i);
    if (!is_full())
        check_tree();
    check_totals();
    return problem_count_;
}

void checker::report(std::uint64_t offset, std::string_view what) {
    if (is_full())
        return;
    ++problem_count_;
    if (report_)
        report_(offset, what);
}

void checker::report_page(std::uint32_t page, std::string_view what) {
    report(section_of(page).descriptor_offset(page), what);
}

void checker::expect_state(bool holds, std::size_t member_offset, std::string_view what) {
    if (!holds)
        report(pages_.state_offset() + member_offset, what);
}

// --- pages

void checker::check_section(const section& which) {
    const std::size_t member = offsetof(alloc_state, used_pages) + sizeof(std::uint32_t) * which.index;
    const std::uint64_t used = std::uint64_t{which.first_data_page} + pages_.state().used_pages[which.index];
    const bool is_used = pages_.state().used_pages[which.index] != 0;
    expect_state(used <= which.end_page(), member, "a section is more than full");
    expect_state(!is_used || used <= pages_.accessible_pages(), member,
                 "a section's used pages are not all accessible");
    if (which.first_data_page >= pages_.accessible_pages())
        return; // its plane may be inaccessible, too
    const std::uint64_t end = pages_.used_end(which);
    for (std::uint64_t at = which.first_data_page; at < end && !is_full();)
        at = check_run(static_cast<std::uint32_t>(at), end);
    expect_clear(which.first_page, which.first_data_page, "the descriptor of a page of metadata is not zero");
    expect_clear_bitmaps(which.first_page, which.first_data_page);
    check_wilderness(which, end);
}

void checker::check_wilderness(const section& which, std::uint64_t begin) {
    if (begin >= which.end_page())
        return;
    expect_clear(static_cast<std::uint32_t>(begin), which.end_page(), "the descriptor of an unused page is not zero");
    expect_clear_bitmaps(static_cast<std::uint32_t>(begin), which.end_page());
}

// Checks the run that begins at `page`; returns its end.
std::uint64_t checker::check_run(std::uint32_t page, std::uint64_t end) {
    switch (pages_.descriptor(page).kind) {
    case page_kind::slab:
        return check_slab(page, end);
    case page_kind::large:
        return check_large(page, end);
    case page_kind::free_run:
        return check_free(page, end);
    default:
        report_page(page, "a page belongs to no slab, large block or free run");
        return page + std::uint64_t{1};
    }
}

std::uint64_t checker::check_slab(std::uint32_t page, std::uint64_t end) {
    if (page != slab_of(page) || page + std::uint64_t{k_slab_pages} > end) {
        report_page(page, "a slab is not where one can be");
        return page + std::uint64_t{1};
    }
    expect_clear(page + 1, page + std::uint64_t{k_slab_pages}, "a page of a slab has a descriptor of its own");
    check_granules(page);
    check_place(page);
    return page + std::uint64_t{k_slab_pages};
}

// B3
void checker::check_granules(std::uint32_t page) {
    const std::uint64_t* const used = pages_.used_bits(section_of(page), page);
    const std::uint64_t* const starts = pages_.start_bits(section_of(page), page);
    std::uint32_t used_count = 0;
    std::uint64_t before = 0; // the last bit of the previous word
    for (std::uint32_t i = 0; i < k_slab_granules / k_word_bits; ++i) {
        used_count += static_cast<std::uint32_t>(std::popcount(used[i]));
        const std::uint64_t behind_free = used[i] & ~(used[i] << 1 | before);
        if ((starts[i] & ~used[i]) != 0 || (behind_free & ~starts[i]) != 0)
            report(section_of(page).start_bits_offset(page) + sizeof(std::uint64_t) * i,
                   "blocks do not begin where they can");
        before = used[i] >> (k_word_bits - 1);
    }
    for (std::uint32_t at = find_set(starts, 0, k_slab_granules); at < k_slab_granules;) {
        const std::uint32_t next = find_set(starts, at + 1, k_slab_granules);
        if (find_clear(used, at, next) - at > k_small_granules_max)
            report(section_of(page).start_bits_offset(page) + at / 8, "a block is longer than blocks of slabs are");
        at = next;
    }
    if (used_count + std::uint64_t{pages_.descriptor(page).count} != k_slab_granules)
        report_page(page, "a slab's number of free granules is not that of its bits");
    allocated_bytes_ += used_count * k_granule_bytes;
}

// B2
void checker::check_place(std::uint32_t page) {
    const page_descriptor& d = pages_.descriptor(page);
    const std::uint64_t* const used = pages_.used_bits(section_of(page), page);
    const std::uint32_t longest = longest_hole(used, k_slab_granules).length();
    const bool is_current = pages_.state().current_slab == page;
    if (!is_current && d.count == k_slab_granules)
        report_page(page, "a slab is empty and not the current one");
    if (is_current || longest == 0) {
        if (d.bin != 0 || d.hole != 0 || d.before != 0 || d.after != 0)
            report_page(page, "a slab that is full or current has links");
    } else {
        const std::uint32_t hole_end =
            find_set(used, std::min<std::uint32_t>(d.hole, k_slab_granules), k_slab_granules);
        if (d.bin != bin_of(longest))
            report_page(page, "a slab is not in the list of its longest hole");
        else if (hole_end < d.hole + least_of_bin(d.bin))
            report_page(page, "a slab's longest hole is not where it says");
        ++listable_slabs_[bin_of(longest)];
    }
}

std::uint64_t checker::check_large(std::uint32_t page, std::uint64_t end) {
    const page_descriptor& d = pages_.descriptor(page);
    if (d.count == 0 || run_end(page, d) > end) {
        report_page(page, "a large block is longer than its section");
        return page + std::uint64_t{1};
    }
    for (std::uint32_t at = page + 1; at < run_end(page, d); ++at) {
        page_descriptor mark{}; // B5: only the first multiples of powers of two inside the block have a mark
        if ((at & (at - 1)) < page || (at & (at - 1)) == 0)
            mark = {page_kind::large_mark, 0, 0, at - page, 0, 0};
        if (pages_.descriptor(at) != mark)
            report_page(at, "a page of a large block is not described as such");
    }
    page_descriptor head{};
    head.kind = page_kind::large;
    head.count = d.count;
    head.bin = std::min(d.bin, static_cast<std::uint8_t>(block_mark::was_moved));
    if (d != head)
        report_page(page, "a large block is not described as such");
    expect_clear_bitmaps(page, run_end(page, d));
    allocated_bytes_ += d.count * k_page_bytes;
    return run_end(page, d);
}

std::uint64_t checker::check_free(std::uint32_t page, std::uint64_t end) {
    const page_descriptor& d = pages_.descriptor(page);
    if (d.count == 0 || run_end(page, d) > end) {
        report_page(page, "a free run is longer than its section");
        return page + std::uint64_t{1};
    }
    const auto last = static_cast<std::uint32_t>(run_end(page, d) - 1);
    if (d.bin != 0 || d.hole != 0)
        report_page(page, "a free run is not described as such");
    if (last != page) {
        expect_clear(page + 1, last, "a descriptor within a free run is not zero");
        page_descriptor tail{};
        tail.kind = page_kind::free_tail;
        tail.count = d.count;
        if (pages_.descriptor(last) != tail)
            report_page(last, "the tags of a free run disagree");
    }
    if (run_end(page, d) == end)
        report_page(page, "a free run lies before the wilderness"); // PR1
    else if (pages_.descriptor(last + 1).kind == page_kind::free_run)
        report_page(page, "two free runs touch");
    expect_clear_bitmaps(page, run_end(page, d));
    ++free_runs_;
    free_pages_ += d.count;
    return run_end(page, d);
}

void checker::expect_clear(std::uint32_t begin, std::uint64_t end, std::string_view what) {
    for (std::uint64_t at = begin; at < end && !is_full(); ++at) {
        const auto page = static_cast<std::uint32_t>(at);
        if (pages_.descriptor(page) != page_descriptor{})
            report_page(page, what);
    }
}

// B3
void checker::expect_clear_bitmaps(std::uint32_t begin, std::uint64_t end) {
    const section& home = section_of(begin);
    for (const std::uint64_t offset : {home.used_bits_offset(begin), home.start_bits_offset(begin)}) {
        const auto* const words = reinterpret_cast<const std::uint64_t*>(pages_.base() + offset);
        for (std::uint64_t i = 0; i < (end - begin) * (k_bitmap_bytes / 8) && !is_full(); ++i) {
            if (words[i] != 0)
                report(offset + 8 * i, "a bitmap of a page in no slab is not zero");
        }
    }
}

// --- links

void checker::check_list(std::uint32_t bin) {
    std::uint64_t found = 0;
    std::uint32_t before = 0;
    for (std::uint32_t page = pages_.state().slab_head[bin]; page != 0;) {
        // Each node names the one before it. So the walk cannot return to a node it has seen.
        if (!is_listed_slab(pages_, page, bin) || pages_.descriptor(page).before != before) {
            report_page(page, "a link in a list of slabs is wrong");
            return;
        }
        ++found;
        before = page;
        page = pages_.descriptor(page).after;
    }
    expect_state(found == listable_slabs_[bin], offsetof(alloc_state, slab_head) + sizeof(std::uint32_t) * bin,
                 "a slab with a free granule is in no list");
}

void checker::check_tree() {
    struct subtree {
        std::uint32_t page;
        std::uint64_t bound; // priorities must be below it (RT1). So no node is below itself, and the walk ends
        std::uint64_t from;  // keys must be in [from, to)
        std::uint64_t to;
    };
    std::vector<subtree> todo{{pages_.state().free_run_root, std::uint64_t{1} << 32, 0, ~std::uint64_t{0}}};
    std::uint64_t found = 0;
    while (!todo.empty() && !is_full() && found <= free_runs_) {
        const subtree at = todo.back();
        todo.pop_back();
        if (at.page == 0)
            continue;
        if (!is_free_run(pages_, at.page) || run_priority(at.page) >= at.bound) {
            report_page(at.page, "a link in the tree of free runs is wrong");
            continue;
        }
        const page_descriptor& d = pages_.descriptor(at.page);
        const std::uint64_t key = std::uint64_t{d.count} << 32 | at.page;
        if (key < at.from || key >= at.to)
            report_page(at.page, "the tree of free runs is not in order");
        ++found;
        todo.push_back({d.before, run_priority(at.page), at.from, key});
        todo.push_back({d.after, run_priority(at.page), key + 1, at.to});
    }
    expect_state(found == free_runs_, offsetof(alloc_state, free_run_root),
                 "the tree of free runs does not hold just the free runs");
}

void checker::check_totals() {
    const alloc_state& state = pages_.state();
    expect_state(state.version == format::k_alloc_state_version, 0, "unknown version of the allocator's state");
    expect_state(is_current_slab(pages_), offsetof(alloc_state, current_slab),
                 "the current slab is none, or its hole not free");
    expect_state(state.allocated_bytes == allocated_bytes_, offsetof(alloc_state, allocated_bytes),
                 "the sum of allocated bytes is wrong");
    expect_state(state.free_pages == free_pages_, offsetof(alloc_state, free_pages), "the sum of free pages is wrong");
    expect_state(state.free_run_count == free_runs_, offsetof(alloc_state, free_run_count),
                 "the number of free runs is wrong");
    for (std::size_t i = k_section_count; i < format::k_alloc_section_slots; ++i) {
        expect_state(state.used_pages[i] == 0, offsetof(alloc_state, used_pages) + sizeof(std::uint32_t) * i,
                     "a section is in use that no heap has");
    }
    for (std::uint32_t i = 0; i < format::k_alloc_bin_slots; ++i) {
        expect_state((state.slab_head[i] != 0) == is_set(&state.used_bins, i), offsetof(alloc_state, used_bins),
                     "the lists of slabs are not those in use");
        expect_state(i < k_bin_count || state.slab_head[i] == 0,
                     offsetof(alloc_state, slab_head) + sizeof(std::uint32_t) * i,
                     "a list of slabs is in use that does not exist");
    }
    const bool is_clear =
        std::all_of(std::begin(state.reserved), std::end(state.reserved), [](std::uint32_t n) { return n == 0; });
    expect_state(is_clear, offsetof(alloc_state, reserved), "reserved bytes are not zero");
}

} // namespace remanence::alloc
