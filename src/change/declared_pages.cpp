#include "change/declared_pages.hpp"

#include "base/range.hpp"
#include "change/change_set.hpp"

#include <algorithm>
#include <new>

namespace remanence::change {

namespace {

heap_range whole(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit) {
    const std::uint64_t from = align_down(offset, unit);
    return {from, align_up(offset + bytes, unit) - from};
}

} // namespace

bool declared_pages::add(std::uint64_t offset, std::uint64_t bytes) noexcept {
    const heap_range pages = whole(offset, bytes, k_page_bytes);
    const std::uint64_t page = pages.offset / k_page_bytes;
    std::uint64_t& recent = recent_[page % k_recent];
    if (pages.bytes != k_page_bytes) {
        add_to(pages_, pages);
        return true;
    }
    if (recent == as_page(page))
        return false;
    add_to(pages_, pages);
    const bool is_known = recent == with_words(page);
    recent = as_page(page);
    return !is_known;
}

bool declared_pages::add_words(std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t page = offset / k_page_bytes;
    std::uint64_t& recent = recent_[page % k_recent];
    if (page != (offset + bytes - 1) / k_page_bytes) {
        add_to(words_, whole(offset, bytes, k_word_bytes));
        return true;
    }
    if (recent == as_page(page))
        return false;
    add_to(words_, whole(offset, bytes, k_word_bytes));
    const bool is_known = recent == with_words(page);
    recent = with_words(page);
    return !is_known;
}

void declared_pages::add_to(list& which, heap_range range) noexcept {
    if (which.ranges.size() == which.merge_at) {
        sort_and_merge(which.ranges);
        which.merge_at = std::max(k_merge_from, 2 * which.ranges.size());
    }
    try {
        which.ranges.push_back(range);
    } catch (const std::bad_alloc&) {
        is_complete_ = false;
    }
}

const std::vector<heap_range>& declared_pages::ranges() {
    sort_and_merge(pages_.ranges);
    return pages_.ranges;
}

const std::vector<heap_range>& declared_pages::words() {
    sort_and_merge(words_.ranges);
    return words_.ranges;
}

void declared_pages::clear() {
    recent_.fill(~std::uint64_t{0});
    for (list* const each : {&pages_, &words_}) {
        each->ranges.clear();
        each->merge_at = k_merge_from;
    }
    is_complete_ = true;
}

} // namespace remanence::change
