#include "view/before_images.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace remanence::view {

std::byte* before_images::find(std::uint64_t page) const {
    auto chunk = chunks_.find(page / chunk_pages_);
    return chunk == chunks_.end() ? nullptr : chunk->second[page % chunk_pages_].bytes;
}

bool before_images::has_newer(std::uint64_t page) const {
    auto chunk = chunks_.find(page / chunk_pages_);
    return chunk != chunks_.end() && chunk->second[page % chunk_pages_].checksum != 0;
}

std::byte* before_images::allocate(std::uint64_t count) {
    expected_ -= std::min(expected_, count);
    if (count == 1 && !free_.empty()) {
        std::byte* page = free_.back();
        free_.pop_back();
        return page;
    }
    if (block_pages_left_ < count) {
        for (; block_pages_left_ > 0; --block_pages_left_, next_ += k_page_bytes)
            free_.push_back(next_);
        blocks_.reserve(blocks_.size() + 1);
        blocks_.push_back(memory_.take(count, expected_, blocks_.empty()));
        next_ = blocks_.back().bytes.get();
        block_pages_left_ = blocks_.back().pages;
    }
    std::byte* pages = next_;
    next_ += count * k_page_bytes;
    block_pages_left_ -= count;
    before_image_memory::populate(blocks_.back(), blocks_.back().pages - block_pages_left_);
    return pages;
}

void before_images::discard(std::byte* page) {
    if (page + k_page_bytes == next_) {
        next_ = page;
        ++block_pages_left_;
    } else {
        free_.push_back(page);
    }
}

void before_images::insert(std::uint64_t page, std::byte* bytes) {
    auto found = chunks_.find(page / chunk_pages_);
    if (found == chunks_.end())
        found = chunks_.emplace(page / chunk_pages_, std::vector<slot>(chunk_pages_)).first; // filled below
    std::vector<slot>& chunk = found->second;
    REM_ASSERT(chunk[page % chunk_pages_].bytes == nullptr);
    chunk[page % chunk_pages_].bytes = bytes;
    ++count_;
}

void before_images::set_checksum(std::uint64_t page, std::uint32_t checksum) {
    chunks_.at(page / chunk_pages_)[page % chunk_pages_].checksum = checksum;
}

std::vector<store::applied_page> before_images::sorted() const {
    std::vector<std::uint64_t> order;
    for (const auto& [chunk, slots] : chunks_)
        order.push_back(chunk);
    std::sort(order.begin(), order.end());
    std::vector<store::applied_page> pages;
    pages.reserve(static_cast<std::size_t>(count_));
    for (std::uint64_t chunk : order) {
        const std::vector<slot>& slots = chunks_.at(chunk);
        for (std::size_t i = 0; i < slots.size(); ++i) {
            if (slots[i].checksum != 0)
                pages.push_back({chunk * chunk_pages_ + i, slots[i].bytes, slots[i].checksum});
        }
    }
    return pages;
}

void before_images::forget(std::uint64_t chunk) {
    const auto found = chunks_.find(chunk);
    if (found == chunks_.end())
        return;
    count_ -= static_cast<std::uint64_t>(
        std::ranges::count_if(found->second, [](const slot& each) { return each.bytes != nullptr; }));
    chunks_.erase(found);
}

void before_images::freeze_into(before_images& frozen) {
    REM_CHECK(frozen.chunks_.empty() && frozen.blocks_.empty());
    for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
        bool is_newer = false;
        for (slot& each : chunk->second) {
            is_newer = is_newer || each.checksum != 0;
            if (each.bytes != nullptr && each.checksum == 0) {
                each.bytes = nullptr;
                --count_;
            }
        }
        chunk = is_newer ? std::next(chunk) : chunks_.erase(chunk);
    }
    std::swap(chunks_, frozen.chunks_);
    std::swap(blocks_, frozen.blocks_);
    std::swap(count_, frozen.count_);
    clear(); // no more memory is allocated from blocks that are now those of `frozen`
    frozen.clear_free();
}

void before_images::take(before_images& other) {
    REM_CHECK(chunks_.empty() && blocks_.empty());
    std::swap(chunks_, other.chunks_);
    std::swap(blocks_, other.blocks_);
    std::swap(count_, other.count_);
    other.clear(); // the free pages of its last block stay unused until clear()
}

void before_images::clear_free() {
    free_.clear();
    next_ = nullptr;
    block_pages_left_ = 0;
}

void before_images::clear() {
    chunks_.clear();
    for (before_image_memory::block& each : blocks_)
        memory_.give_back(std::move(each));
    blocks_.clear();
    clear_free();
    count_ = 0;
}

} // namespace remanence::view
