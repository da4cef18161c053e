#include "alloc/checker.hpp"

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

// The part of a bitmap word that stands for slots.
std::uint64_t slots_in_word(const size_class& of, std::uint32_t word) {
    const std::uint32_t from = word * 64;
    if (of.slot_count <= from)
        return 0;
    return of.slot_count - from >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (of.slot_count - from)) - 1;
}

} // namespace

bool checker::is_free_run(const heap_pages& pages, std::uint32_t page) {
    const page_descriptor* const d = pages.used_descriptor(page);
    return d != nullptr && d->kind == page_kind::free_run && d->count != 0 &&
           run_end(page, *d) <= pages.used_end(section_of(page));
}

bool checker::is_slab(const heap_pages& pages, std::uint32_t page, std::uint32_t class_index) {
    const page_descriptor* const d = pages.used_descriptor(page);
    const size_class& of = k_size_classes[class_index];
    return d != nullptr && d->kind == page_kind::slab && d->size_class == class_index && d->count <= of.slot_count &&
           page + std::uint64_t{of.page_count} <= pages.used_end(section_of(page));
}

bool checker::is_listed_slab(const heap_pages& pages, std::uint32_t page, std::uint32_t class_index) {
    return is_slab(pages, page, class_index) && pages.descriptor(page).count != 0;
}

std::size_t checker::run() {
    for (std::uint32_t i = 0; i < k_section_count && !is_full(); ++i)
        check_section(section_at(i));
    for (std::uint32_t i = 0; i < k_class_count && !is_full(); ++i)
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
// --------------------------------------------------------------------------------------------------------------------

void checker::check_section(const section& which) {
    const std::size_t member = offsetof(alloc_state, used_pages) + 4 * which.index;
    const std::uint64_t used = std::uint64_t{which.first_data_page} + pages_.state().used_pages[which.index];
    const bool is_used = pages_.state().used_pages[which.index] != 0;
    expect_state(used <= which.end_page(), member, "a section is more than full");
    expect_state(!is_used || used <= pages_.accessible_pages(), member,
                 "a section's used pages are not all accessible");
    if (which.first_data_page >= pages_.accessible_pages())
        return; // its plane may not be accessible either
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

// What begins at `page`; returns where it ends.
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
    const page_descriptor& d = pages_.descriptor(page);
    if (d.size_class >= k_class_count || page + std::uint64_t{k_size_classes[d.size_class].page_count} > end) {
        report_page(page, "a slab has an unknown size class, or is longer than its section");
        return page + std::uint64_t{1};
    }
    const size_class& of = k_size_classes[d.size_class];
    for (std::uint32_t i = 1; i < of.page_count; ++i) {
        page_descriptor part{};
        part.kind = page_kind::slab_part;
        part.size_class = d.size_class;
        part.back = static_cast<std::uint8_t>(i);
        if (pages_.descriptor(page + i) != part)
            report_page(page + i, "a page of a slab is not described as such");
    }
    if (d.back != 0)
        report_page(page, "a slab does not begin where it begins");
    check_slots(page, of);
    return page + std::uint64_t{of.page_count};
}

void checker::check_slots(std::uint32_t page, const size_class& of) {
    const page_descriptor& d = pages_.descriptor(page);
    std::uint32_t allocated = 0;
    for (std::uint32_t i = 0; i < k_bitmap_bytes / 8 * of.page_count; ++i) {
        const std::uint64_t word = pages_.bitmap(page)[i];
        const std::uint64_t slots = slots_in_word(of, i);
        allocated += static_cast<std::uint32_t>(std::popcount(word & slots));
        if ((word & ~slots) != 0)
            report_page(page, "a slab's bitmap has a bit for no slot");
        if (i < d.hint && word != ~std::uint64_t{0})
            report_page(page, "a slab's hint is behind a free slot");
    }
    if (d.hint >= of.word_count)
        report_page(page, "a slab's hint lies outside its bitmap");
    if (allocated + std::uint64_t{d.count} != of.slot_count)
        report_page(page, "a slab's number of free slots is not that of its bitmap");
    const bool is_kept = pages_.state().slab_kept[d.size_class] == page;
    if (allocated == 0 && !is_kept)
        report_page(page, "an empty slab is not the one that its class keeps"); // B1
    if (d.count == 0 && (d.before != 0 || d.after != 0))
        report_page(page, "a full slab has links");
    listable_slabs_[d.size_class] += d.count != 0;
    allocated_bytes_ += std::uint64_t{allocated} * of.bytes;
}

std::uint64_t checker::check_large(std::uint32_t page, std::uint64_t end) {
    const page_descriptor& d = pages_.descriptor(page);
    if (d.count == 0 || run_end(page, d) > end) {
        report_page(page, "a large block is longer than its section");
        return page + std::uint64_t{1};
    }
    for (std::uint32_t at = page + 1; at < run_end(page, d); ++at) {
        page_descriptor mark{}; // B3: at the first multiple of the largest power of two that divides its index
        if ((at & (at - 1)) < page || (at & (at - 1)) == 0)
            mark = {page_kind::large_mark, 0, 0, 0, at - page, 0, 0};
        if (pages_.descriptor(at) != mark)
            report_page(at, "a page of a large block is not described as such");
    }
    page_descriptor head{};
    head.kind = page_kind::large;
    head.count = d.count;
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
    if (d.size_class != 0 || d.back != 0 || d.hint != 0)
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
        report_page(page, "a free run lies before the wilderness"); // P1
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

void checker::expect_clear_bitmaps(std::uint32_t begin, std::uint64_t end) {
    const std::uint64_t* const words = pages_.bitmap(begin);
    for (std::uint64_t i = 0; i < (end - begin) * (k_bitmap_bytes / 8) && !is_full(); ++i) {
        if (words[i] != 0)
            report(section_of(begin).bitmap_offset(begin) + 8 * i, "a bitmap of a page in no slab is not zero"); // B2
    }
}

// --- links
// --------------------------------------------------------------------------------------------------------------------

void checker::check_list(std::uint32_t class_index) {
    const std::uint32_t kept = pages_.state().slab_kept[class_index];
    expect_state(kept == 0 || is_slab(pages_, kept, class_index), offsetof(alloc_state, slab_kept) + 4 * class_index,
                 "the kept slab of a class is none");
    std::uint64_t found = 0;
    std::uint32_t before = 0;
    for (std::uint32_t page = pages_.state().slab_head[class_index]; page != 0;) {
        // Since each node names the one before it, the walk cannot come back to one it has seen.
        if (!is_listed_slab(pages_, page, class_index) || pages_.descriptor(page).before != before) {
            report_page(page, "a link in a class's list of slabs is wrong");
            return;
        }
        ++found;
        before = page;
        page = pages_.descriptor(page).after;
    }
    expect_state(found == listable_slabs_[class_index], offsetof(alloc_state, slab_head) + 4 * class_index,
                 "a slab with a free slot is not in its class's list");
}

void checker::check_tree() {
    struct subtree {
        std::uint32_t page;
        std::uint64_t bound; // of priorities (T1), which makes the walk finite: no node can be below itself
        std::uint64_t from;  // of keys
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
    expect_state(state.class_count == k_class_count, offsetof(alloc_state, class_count),
                 "made with other size classes");
    expect_state(state.allocated_bytes == allocated_bytes_, offsetof(alloc_state, allocated_bytes),
                 "the sum of allocated bytes is wrong");
    expect_state(state.free_pages == free_pages_, offsetof(alloc_state, free_pages), "the sum of free pages is wrong");
    expect_state(state.free_run_count == free_runs_, offsetof(alloc_state, free_run_count),
                 "the number of free runs is wrong");
    for (std::size_t i = k_section_count; i < format::k_alloc_section_slots; ++i) {
        expect_state(state.used_pages[i] == 0, offsetof(alloc_state, used_pages) + 4 * i,
                     "a section is in use that no heap has");
    }
    for (std::size_t i = k_class_count; i < format::k_alloc_class_slots; ++i) {
        expect_state(state.slab_head[i] == 0, offsetof(alloc_state, slab_head) + 4 * i,
                     "a size class is in use that does not exist");
        expect_state(state.slab_kept[i] == 0, offsetof(alloc_state, slab_kept) + 4 * i,
                     "a size class is in use that does not exist");
    }
    const bool is_clear =
        std::all_of(std::begin(state.reserved), std::end(state.reserved), [](std::uint32_t n) { return n == 0; });
    expect_state(is_clear, offsetof(alloc_state, reserved), "reserved bytes are not zero");
}

} // namespace remanence::alloc
