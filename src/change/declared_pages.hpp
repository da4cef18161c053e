// Memory that was declared before it is written: pages, in which any byte may change, or 8-byte words, if only these
// words of a page change.
//
// A declaration that repeats a recent one costs a few instructions; any other adds an entry to a list. The list is
// sorted and merged each time it has doubled. No cost here depends on the size of the heap.
#pragma once

#include "base/range.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace remanence::change {

/// Not thread-safe: the owner's lock protects it.
class declared_pages {
public:
    declared_pages() { clear(); }

    /// Adds the pages of [offset, offset + bytes), which is at least one byte. Returns false if all of these pages are
    /// known to be declared already, whole or by words. If memory runs out, the lists become incomplete.
    bool add(std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// Adds the 8-byte words that contain these bytes. Otherwise behaves as add().
    bool add_words(std::uint64_t offset, std::uint64_t bytes) noexcept;
    [[nodiscard]] bool is_empty() const { return pages_.ranges.empty() && words_.ranges.empty() && is_complete_; }
    [[nodiscard]] bool is_complete() const { return is_complete_; }
    /// Returns whole pages, sorted. Valid until the next add() or clear().
    [[nodiscard]] const std::vector<heap_range>& ranges();
    /// Returns whole words, sorted; some may lie in pages of ranges(). Valid until the next add_words() or clear().
    [[nodiscard]] const std::vector<heap_range>& words();
    void clear();

private:
    static constexpr std::size_t k_recent = 64; // a power of two
    static constexpr std::size_t k_merge_from = 1024;

    struct list {
        std::vector<heap_range> ranges;
        std::size_t merge_at = k_merge_from; // at this length the list is merged before another range is added
    };
    static constexpr std::uint64_t as_page(std::uint64_t page) { return 2 * page; }
    static constexpr std::uint64_t with_words(std::uint64_t page) { return 2 * page + 1; }

    void add_to(list& which, heap_range range) noexcept;

    std::array<std::uint64_t, k_recent>
        // A cache of declarations of single pages, indexed by the lowest bits of the page number. An entry is
        // as_page(page) if the page was declared whole, with_words(page) if only words of it were.
        recent_;
    list pages_;
    list words_;
    bool is_complete_ = true;
};

} // namespace remanence::change
