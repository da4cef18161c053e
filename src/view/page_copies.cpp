#include "view/page_copies.hpp"

#include "base/assert.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::view {

void page_copies::add(heap_range pages, const std::byte* base) {
    while (pages.bytes != 0) {
        if (pages_left_ == 0) {
            blocks_.reserve(blocks_.size() + 1);
            const std::uint64_t left = expected_ - std::min(expected_, bytes_ / k_page_bytes);
            blocks_.push_back(memory_->take(1, std::max(left, pages.bytes / k_page_bytes), blocks_.empty()));
            pages_left_ = blocks_.back().pages;
        }
        const before_image_memory::block& last = blocks_.back();
        std::byte* const into = last.bytes.get() + (last.pages - pages_left_) * k_page_bytes;
        const heap_range fitting{pages.offset, std::min(pages.bytes, pages_left_ * k_page_bytes)};
        pieces_.push_back({fitting, into});
        std::memcpy(into, base + fitting.offset, static_cast<std::size_t>(fitting.bytes));
        pages_left_ -= fitting.bytes / k_page_bytes;
        bytes_ += fitting.bytes;
        pages = {fitting.end(), pages.bytes - fitting.bytes};
    }
}

void page_copies::clear() noexcept {
    for (before_image_memory::block& each : blocks_)
        memory_->give_back(std::move(each));
    blocks_.clear();
    pieces_.clear();
    pages_left_ = 0;
    bytes_ = 0;
}

const std::byte* page_copies::find(std::uint64_t page) const {
    const std::uint64_t at = page * k_page_bytes;
    const auto behind = std::ranges::upper_bound(pieces_, at, {}, [](const piece& each) { return each.pages.offset; });
    if (behind == pieces_.begin() || at >= behind[-1].pages.end())
        return nullptr;
    return behind[-1].bytes + (at - behind[-1].pages.offset);
}

const std::byte* page_copies::of(std::uint64_t page) const {
    const std::byte* const copy = find(page);
    REM_CHECK(copy != nullptr);
    return copy;
}

bool page_copies::has_any_in(heap_range range) const {
    const auto behind =
        std::ranges::lower_bound(pieces_, range.end(), {}, [](const piece& each) { return each.pages.offset; });
    return behind != pieces_.begin() && behind[-1].pages.end() > range.offset;
}

} // namespace remanence::view
