#include "view/word_comparer.hpp"

#include "base/range_list.hpp"
#include "base/units.hpp"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace remanence::view {

using change::change_set;
using change::changed_page;
using change::k_word_bytes;

result<void> word_comparer::compare(std::span<const heap_range> words, change_set& changes) {
    const std::vector<heap_range> split = split_at_chunks(words, k_page_bytes);
    for (const heap_range* first = split.data(); first != split.data() + split.size();) {
        const std::span<const heap_range> of_page = in_same_chunk(split, first, k_page_bytes);
        REM_TRY(compare_page(first->offset / k_page_bytes, of_page, changes));
        first += of_page.size();
    }
    return {};
}

result<void> word_comparer::compare_page(std::uint64_t page, std::span<const heap_range> words, change_set& changes) {
    const std::size_t first = changes.ranges.size();
    const std::byte* committed = committed_.copy(page);
    std::byte* made = nullptr;
    if (committed == nullptr) {
        committed = made = committed_.allocate_before_images(1);
        if (auto read = committed_.read_image({page * k_page_bytes, k_page_bytes}, nullptr, made); !read) {
            committed_.discard_before_image(made);
            return read;
        }
    }
    for (const heap_range& each : words)
        add_changed(each, committed, changes);
    const auto count = static_cast<std::uint32_t>(changes.ranges.size() - first);
    if (count == 0) {
        if (made != nullptr)
            committed_.discard_before_image(made);
        return {};
    }
    changes.pages.push_back({page, changed_page::k_to_be_made, count, first});
    if (made != nullptr)
        committed_.add_before_image(page, made);
    else if (committed_.is_frozen_copy(page))
        committed_.add_before_image_of_frozen(page);
    return {};
}

void word_comparer::add_changed(heap_range words, const std::byte* committed, change_set& changes) const {
    const std::byte* const now = base_ + align_down(words.offset, k_page_bytes);
    const auto begin = static_cast<std::size_t>(words.offset % k_page_bytes);
    bool goes_on = false;
    for (std::size_t at = begin; at < begin + words.bytes; at += k_word_bytes) {
        if (std::memcmp(now + at, committed + at, k_word_bytes) == 0) {
            goes_on = false;
        } else if (std::exchange(goes_on, true)) {
            changes.ranges.back().bytes = static_cast<std::uint16_t>(changes.ranges.back().bytes + k_word_bytes);
        } else {
            changes.ranges.push_back({static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(k_word_bytes)});
        }
    }
}

void leave_out(std::span<const heap_range> words, change_set& changes) {
    const std::vector<heap_range> hidden(words.begin(), words.end());
    change_set rest;
    for (const changed_page& page : changes.pages) {
        std::vector<heap_range> ranges;
        for (const format::change_range& range : changes.ranges_of(page))
            ranges.push_back({page.page * k_page_bytes + range.offset, range.bytes});
        const std::size_t first = rest.ranges.size();
        for (const heap_range& left : without(ranges, hidden))
            rest.ranges.push_back(
                {static_cast<std::uint16_t>(left.offset % k_page_bytes), static_cast<std::uint16_t>(left.bytes)});
        const auto count = static_cast<std::uint32_t>(rest.ranges.size() - first);
        if (count != 0)
            rest.pages.push_back({page.page, page.checksum, count, first});
    }
    changes.pages = std::move(rest.pages);
    changes.ranges = std::move(rest.ranges);
}

} // namespace remanence::view
