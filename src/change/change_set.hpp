// What a commit carries: the value that those who find changes (trackers, declared sections) hand to those who make
// them durable, check them or tell of them. It names pages and chunks; the bytes stay in memory until the commit is
// written.
#pragma once

#include "format/log_record.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remanence::change {

/// In units of which memory is compared, and ranges of changes are logged.
inline constexpr std::uint64_t k_word_bytes = 8;

/// Which changes a commit takes.
enum class commit_scope {
    everything,
    declared, // those that were declared
};

/// Where a commit puts what fresh chunks hold.
enum class fresh_contents {
    in_copy,
    in_log_if_few, // pages: then nobody has to wait for the device before the record
};

/// A page that goes into the log as ranges.
struct changed_page {
    std::uint64_t page;
    std::uint32_t checksum; // after the change; or k_to_be_made, by view::committed_content::renew_declared()
    std::uint32_t range_count;
    std::size_t first_range; // in change_set::ranges

    static constexpr std::uint32_t k_to_be_made = 0; // no page has it
};

/// A chunk that is to be written whole.
struct whole_chunk {
    std::uint64_t chunk;
    /// One for each page. 0 means zeros; `k_to_be_made` waits for view::change_collector::make_checksums(), which may make just
    /// this, too.
    std::vector<std::uint32_t> checksums;
    /// One for each page of a chunk that was spilled, else empty: true if nobody wrote to the page since, so that its copy has it.
    std::vector<bool> is_in_copy{};

    static constexpr std::uint32_t k_to_be_made = 1;
    [[nodiscard]] bool needs_writing(std::size_t page) const { return is_in_copy.empty() || !is_in_copy[page]; }
    /// Returns false for a fresh chunk whose pages are all among change_set::pages.
    [[nodiscard]] bool has_contents() const;
};

/// What a commit has to make durable. All lists are sorted.
struct change_set {
    std::vector<whole_chunk> fresh;     // chunks that have no place in the file yet
    std::vector<whole_chunk> relocated; // chunks that have one, and are written whole to their other copy
    std::vector<changed_page> pages;
    std::vector<format::change_range> ranges; // of all pages, in their order
    std::uint64_t held_back_bytes = 0;        // of chunks that would move, but for a checkpoint that must come first

    [[nodiscard]] bool empty() const { return !has_whole_chunks() && pages.empty(); }
    [[nodiscard]] bool has_whole_chunks() const { return !fresh.empty() || !relocated.empty(); }
    /// Returns the bytes of all ranges, and of the pages that whole chunks have contents for.
    [[nodiscard]] std::uint64_t changed_bytes() const;
    [[nodiscard]] std::span<const format::change_range> ranges_of(const changed_page& page) const {
        return std::span(ranges).subspan(page.first_range, page.range_count);
    }
};

} // namespace remanence::change
