#include "view/twins.hpp"

#include "base/assert.hpp"
#include "os/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace remanence::view {

void twins::free_deleter::operator()(std::byte* block) const { std::free(block); }

std::byte* twins::find(std::uint64_t page) const {
    auto chunk = chunks_.find(page / chunk_pages_);
    return chunk == chunks_.end() ? nullptr : chunk->second[page % chunk_pages_].bytes;
}

std::byte* twins::allocate(std::uint64_t count) {
    if (count == 1 && !free_.empty()) {
        std::byte* page = free_.back();
        free_.pop_back();
        return page;
    }
    if (block_pages_left_ < count) {
        for (; block_pages_left_ > 0; --block_pages_left_, next_ += k_page_bytes)
            free_.push_back(next_);
        // A commit of few pages shall not pay for the zeros of a huge page.
        const bool is_small = blocks_.empty() && count <= k_first_block_pages;
        const std::uint64_t pages = is_small ? k_first_block_pages : align_up(count, k_block_pages);
        blocks_.reserve(blocks_.size() + 1);
        auto* block = static_cast<std::byte*>(
            std::aligned_alloc((is_small ? 1 : k_block_pages) * k_page_bytes, pages * k_page_bytes));
        if (block == nullptr)
            throw std::bad_alloc();
        if (!is_small)
            os::prefer_huge_pages(block, pages * k_page_bytes);
        blocks_.emplace_back(block);
        next_ = block;
        block_pages_left_ = pages;
    }
    std::byte* pages = next_;
    next_ += count * k_page_bytes;
    block_pages_left_ -= count;
    return pages;
}

void twins::discard(std::byte* page) {
    if (page + k_page_bytes == next_) {
        next_ = page;
        ++block_pages_left_;
    } else {
        free_.push_back(page);
    }
}

void twins::insert(std::uint64_t page, std::byte* bytes) {
    auto found = chunks_.find(page / chunk_pages_);
    if (found == chunks_.end())
        found = chunks_.emplace(page / chunk_pages_, std::vector<slot>(chunk_pages_)).first; // never an empty one
    std::vector<slot>& chunk = found->second;
    REM_ASSERT(chunk[page % chunk_pages_].bytes == nullptr);
    chunk[page % chunk_pages_].bytes = bytes;
    ++count_;
}

void twins::set_checksum(std::uint64_t page, std::uint32_t checksum) {
    chunks_.at(page / chunk_pages_)[page % chunk_pages_].checksum = checksum;
}

std::vector<store::folded_page> twins::sorted() const {
    std::vector<std::uint64_t> order;
    for (const auto& [chunk, slots] : chunks_)
        order.push_back(chunk);
    std::sort(order.begin(), order.end());
    std::vector<store::folded_page> pages;
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

void twins::clear() {
    chunks_.clear();
    free_.clear();
    blocks_.clear();
    next_ = nullptr;
    block_pages_left_ = 0;
    count_ = 0;
}

} // namespace remanence::view
