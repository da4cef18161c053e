#include "alloc/page_runs.hpp"

#include <algorithm>

namespace remanence::alloc {

using format::page_descriptor;
using format::page_kind;

std::uint32_t page_runs::allocate(std::uint64_t page_count, std::uint64_t alignment) {
    if (page_count > k_heap_pages_max) {
        pages_.note_failure(errc::exhausted, "that is more than a heap can hold");
        return 0;
    }
    const auto count = static_cast<std::uint32_t>(page_count);
    const std::uint32_t from = find_free(page_count, alignment);
    if (pages_.found_damage())
        return 0;
    return from != 0 ? carve(from, count, alignment) : extend_into_wilderness(count, alignment);
}

// The best fit may not contain an aligned run. A run that is longer by the alignment always does.
std::uint32_t page_runs::find_free(std::uint64_t page_count, std::uint64_t alignment) {
    if (pages_.state().free_run_root == 0)
        return 0;
    const std::uint32_t best = tree_.best_fit(page_count);
    if (best == 0 || align_up(best, alignment) + page_count <= std::uint64_t{best} + pages_.descriptor(best).count)
        return best;
    return tree_.best_fit(page_count + alignment - 1);
}

std::uint32_t page_runs::carve(std::uint32_t from, std::uint32_t page_count, std::uint64_t alignment) {
    const run whole{from, pages_.descriptor(from).count};
    const auto page = static_cast<std::uint32_t>(align_up(from, alignment));
    const std::uint32_t skipped = page - from;
    if (!take_out(whole))
        return 0;
    if (skipped != 0)
        put_in({from, skipped});
    if (const std::uint32_t left = whole.page_count - skipped - page_count; left != 0)
        put_in({page + page_count, left});
    return page;
}

std::uint32_t page_runs::extend_into_wilderness(std::uint32_t page_count, std::uint64_t alignment) {
    if (!kept_.is_surely_empty())
        return 0; // M3
    for (std::uint32_t index = 0; index < k_section_count; ++index) {
        const section& candidate = section_at(index);
        const std::uint64_t begin = std::uint64_t{candidate.first_data_page} + pages_.state().used_pages[index];
        const std::uint64_t page = align_up(begin, alignment);
        if (page + page_count > std::min(candidate.end_page(), pages_.limit_pages()))
            continue;
        return take_wilderness(candidate, page, page_count);
    }
    pages_.note_failure(errc::exhausted, heap_pages::k_used_up);
    return 0;
}

std::uint32_t page_runs::take_wilderness(const section& of, std::uint64_t page, std::uint32_t page_count) {
    if (!pages_.reach(page + page_count))
        return 0;
    std::uint32_t& used = pages_.changing_state().used_pages[of.index];
    const std::uint32_t begin = of.first_data_page + used;
    used = static_cast<std::uint32_t>(page + page_count - of.first_data_page);
    if (page != begin)
        put_in({begin, static_cast<std::uint32_t>(page - begin)});
    return static_cast<std::uint32_t>(page);
}

void page_runs::release(std::uint32_t page, std::uint32_t page_count) {
    run freed{page, page_count};
    const auto before = free_run_before(page);
    const auto after = free_run_at(std::uint64_t{page} + page_count);
    if (pages_.found_damage())
        return;
    if (before) {
        if (!take_out(*before))
            return;
        freed = {before->page, before->page_count + freed.page_count};
    }
    if (after) {
        if (!take_out(*after))
            return;
        freed.page_count += after->page_count;
    }
    const section& home = section_of(page);
    if (std::uint64_t{freed.page} + freed.page_count == pages_.used_end(home)) {
        pages_.changing_state().used_pages[home.index] = freed.page - home.first_data_page;
    } else {
        put_in(freed);
    }
}

bool page_runs::extend(std::uint32_t page, std::uint32_t page_count, std::uint32_t more) {
    const std::uint64_t end = std::uint64_t{page} + page_count;
    const section& home = section_of(page);
    if (end + more > std::min(home.end_page(), pages_.limit_pages()))
        return false;
    if (end == pages_.used_end(home)) {
        if (!pages_.reach(end + more))
            return false;
        pages_.changing_state().used_pages[home.index] += more;
        return true;
    }
    const auto after = free_run_at(end);
    if (!after || after->page_count < more || !take_out(*after))
        return false;
    if (after->page_count != more)
        put_in({after->page + more, after->page_count - more});
    return true;
}

bool page_runs::take_out(run which) {
    if (!tree_.remove(which.page))
        return false;
    pages_.set_descriptor(which.page, {});
    pages_.set_descriptor(which.page + which.page_count - 1, {});
    return true;
}

void page_runs::put_in(run which) {
    page_descriptor tag{};
    tag.count = which.page_count;
    tag.kind = page_kind::free_tail;
    pages_.set_descriptor(which.page + which.page_count - 1, tag);
    tag.kind = page_kind::free_run;
    pages_.set_descriptor(which.page, tag);
    tree_.insert(which.page);
}

// Returns the free run that ends where `page` begins.
std::optional<page_runs::run> page_runs::free_run_before(std::uint32_t page) {
    const std::uint32_t last = page - 1;
    const page_descriptor* const tag = pages_.used_descriptor(last); // null if `page` is its section's first data page
    if (tag == nullptr || (tag->kind != page_kind::free_run && tag->kind != page_kind::free_tail))
        return {};
    const auto found = tag->count == 0 || tag->count > last ? std::nullopt : free_run_at(page - tag->count);
    if (!found || found->page + std::uint64_t{found->page_count} != page) {
        pages_.note_damage_of_page(last, "the tags of a free run disagree");
        return {};
    }
    return found;
}

// Returns the free run that begins at `page`.
std::optional<page_runs::run> page_runs::free_run_at(std::uint64_t page) {
    if (page > k_heap_pages_max)
        return {};
    const auto first = static_cast<std::uint32_t>(page);
    const page_descriptor* const tag = pages_.used_descriptor(first);
    if (tag == nullptr || tag->kind != page_kind::free_run)
        return {};
    if (tag->count == 0 || page + tag->count > pages_.used_end(section_of(first))) {
        pages_.note_damage_of_page(first, "a free run is longer than its section");
        return {};
    }
    return run{first, tag->count};
}

} // namespace remanence::alloc
