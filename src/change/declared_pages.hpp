// What somebody said will be written: pages, of which any byte may change, and words, beside which nothing does.
//
// A declarement costs a few instructions when it repeats a recent one, else an entry of a list, which is kept as short
// as the places make it. Nothing here depends on the size of the heap.
#pragma once

#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::change {

/// Not thread-safe: whoever owns it has a lock around it.
class declared_pages {
public:
    declared_pages() { clear(); }

    /// Adds the pages of [offset, offset + bytes), which is at least one byte. Returns false when all of them are known to be in
    /// already, as pages or with words. When there is no memory to note them, the lists become incomplete.
    bool add(std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// Adds the words of 8 bytes that these bytes lie in, likewise.
    bool add_words(std::uint64_t offset, std::uint64_t bytes) noexcept;
    [[nodiscard]] bool is_empty() const { return pages_.ranges.empty() && words_.ranges.empty() && is_complete_; }
    [[nodiscard]] bool is_complete() const { return is_complete_; }
    /// Returns whole pages, sorted. Valid until the next add() or clear().
    [[nodiscard]] const std::vector<heap_range>& ranges();
    /// Returns whole words, sorted; some may lie in those pages. Valid likewise.
    [[nodiscard]] const std::vector<heap_range>& words();
    void clear();

private:
    static constexpr std::size_t k_recent = 64; // a power of two
    static constexpr std::size_t k_merge_from = 1024;

    struct list {
        std::vector<heap_range> ranges;
        std::size_t merge_at = k_merge_from; // so many ranges are merged before another is added
    };
    static constexpr std::uint64_t as_page(std::uint64_t page) { return 2 * page; }
    static constexpr std::uint64_t with_words(std::uint64_t page) { return 2 * page + 1; }

    void add_to(list& which, heap_range range) noexcept;

    std::array<std::uint64_t, k_recent>
        recent_; // places in single pages: as_page() or with_words(), by the page's lowest bits
    list pages_;
    list words_;
    bool is_complete_ = true;
};

} // namespace remanence::change
