// The changes of a commit. Trackers and declared sections find them, and a change_set passes them to the code that
// makes them durable, checks or reports them. It names pages and chunks; their bytes stay in memory until the commit
// is written.
#pragma once

#include "format/log_record.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::change {

/// The unit in which memory is compared and changes are logged.
inline constexpr std::uint64_t k_word_bytes = 8;

/// Which changes a commit includes.
enum class commit_scope {
    everything,
    declared, // only the declared ones
};

/// Where a commit writes the contents of fresh chunks.
enum class fresh_contents {
    in_copy,
    in_log_if_few, // if few pages: then the commit need not sync the heap file before it writes its record
};

/// A page that goes into the log as ranges.
struct changed_page {
    std::uint64_t page;
    std::uint32_t checksum; // after the change; k_to_be_made: view::committed_content::renew_declared() computes it
    std::uint32_t range_count;
    std::size_t first_range; // index of the first range in change_set::ranges

    static constexpr std::uint32_t k_to_be_made = 0; // no checksum of a page is 0
};

/// A chunk that is to be written whole.
struct whole_chunk {
    std::uint64_t chunk;
    /// One per page. 0 means zeros. `k_to_be_made` means that view::change_collector::make_checksums() will compute it,
    /// even if a page already has a checksum of the same value.
    std::vector<std::uint32_t> checksums;
    /// For a spilled chunk one per page, else empty. True if the page was not written since it was spilled, so that the
    /// chunk's copy in the file has the page's contents.
    std::vector<bool> is_in_copy{};

    static constexpr std::uint32_t k_to_be_made = 1;
    [[nodiscard]] bool needs_writing(std::size_t page) const { return is_in_copy.empty() || !is_in_copy[page]; }
    /// Returns false for a fresh chunk whose pages are all among change_set::pages.
    [[nodiscard]] bool has_contents() const;
};

/// The changes that a commit makes durable. All lists are sorted.
struct change_set {
    std::vector<whole_chunk> fresh;     // chunks that are not stored in the file yet
    std::vector<whole_chunk> relocated; // stored chunks, to be written whole to their other copy
    std::vector<changed_page> pages;
    std::vector<format::change_range> ranges; // of all pages, in the order of `pages`
    std::uint64_t held_back_bytes = 0;        // of chunks that may move only after a checkpoint frees their other copy

    [[nodiscard]] bool empty() const { return !has_whole_chunks() && pages.empty(); }
    [[nodiscard]] bool has_whole_chunks() const { return !fresh.empty() || !relocated.empty(); }
    /// Returns the length of all ranges, plus that of the pages of whole chunks that have contents.
    [[nodiscard]] std::uint64_t changed_bytes() const;
    [[nodiscard]] std::span<const format::change_range> ranges_of(const changed_page& page) const {
        return std::span(ranges).subspan(page.first_range, page.range_count);
    }
};

} // namespace remanence::change
