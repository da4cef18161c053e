// The content of some pages at one moment, copied to memory outside of the heap. It is one allocation of exactly the
// needed size, since a section may have thousands of these objects. (page_copies, of which only one exists at a time,
// uses blocks of 2 MiB that are in memory already.)
#pragma once

#include "base/range.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace remanence::view {

class kept_pages {
public:
    /// Copies `pages` (whole pages, sorted) from the memory at `base`. Throws std::bad_alloc.
    kept_pages(std::span<const heap_range> pages, const std::byte* base) {
        std::uint64_t bytes = 0;
        runs_.reserve(pages.size());
        for (const heap_range& each : pages) {
            runs_.push_back({each, bytes});
            bytes += each.bytes;
        }
        content_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
        for (const run& each : runs_)
            std::memcpy(content_.get() + each.at, base + each.pages.offset, static_cast<std::size_t>(each.pages.bytes));
    }

    /// Returns the copy of a page, or null if it was not copied. O(log runs of pages).
    [[nodiscard]] const std::byte* find(std::uint64_t page) const {
        const std::uint64_t offset = page * k_page_bytes;
        const auto behind = std::ranges::upper_bound(runs_, offset, {}, [](const run& r) { return r.pages.offset; });
        if (behind == runs_.begin() || offset >= std::prev(behind)->pages.end())
            return nullptr;
        const run& around = *std::prev(behind);
        return content_.get() + around.at + (offset - around.pages.offset);
    }

private:
    struct run {
        heap_range pages;
        std::uint64_t at; // offset in content_
    };
    std::vector<run> runs_;
    std::unique_ptr<std::byte[]> content_;
};

} // namespace remanence::view
