// Redo log records in memory: building one, and reading one back as validated pieces.
#pragma once

#include "base/page_aligned.hpp"
#include "base/range.hpp"
#include "base/units.hpp"
#include "format/log_record.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace remanence::log {

using uuid = std::array<std::uint8_t, 16>;
using format::session_number;

/// What ties a record to its place in the chain (R2).
struct record_identity {
    session_number session;
    std::uint64_t epoch;
    std::uint64_t version;
    std::uint64_t predecessor;
    std::uint64_t durable_through;
};

/// Collects one commit. Bytes are copied in as they are added.
class record_builder {
public:
    /// `memory`: of an earlier record, to be used again.
    explicit record_builder(page_aligned_bytes memory = {}) : bytes_(std::move(memory)) {
        bytes_.reserve(k_page_bytes);
        clear();
    }
    void clear();
    /// Reserves memory for so many chunks with `chunk_pages` pages each, for page changes, and for `event_bytes` of
    /// events including their length. Adding these then copies nothing twice and allocates nothing. Returns what
    /// record_bytes() will be.
    std::uint64_t reserve(std::size_t chunks, std::size_t chunk_pages, std::size_t pages,
                          std::span<const format::change_range> ranges, std::size_t event_bytes = 0);
    [[nodiscard]] bool empty() const { return chunk_count_ == 0 && page_count_ == 0 && features_ == 0; }

    /// Adds the chunks that are given back: sorted, not empty, with gaps between runs. Call it before everything else.
    void give_back(std::span<const chunk_range> chunks);
    /// Adds the events of the commit for the heap's history. Call it before chunks and pages.
    void add_events(std::span<const std::byte> events);
    /// Returns the record_bytes() of a record that only gives back `runs` runs.
    static std::uint64_t bytes_to_give_back(std::size_t runs);
    void add_chunk(std::uint64_t chunk, bool in_copy_b, std::span<const std::uint32_t> checksums);
    /// Adds a page change. `ranges` lie within `page`, which has the page's bytes after the change.
    void add_page(std::uint64_t index, std::uint32_t checksum, std::span<const format::change_range> ranges,
                  const std::byte* page);

    /// Returns the size of the finished record, padding included.
    [[nodiscard]] std::uint64_t record_bytes() const { return align_up(bytes_.size(), format::k_record_alignment); }
    /// Seals the record and returns its bytes, which begin at a page boundary and are padded to whole sectors. Valid
    /// until clear().
    std::span<const std::byte> finish(const record_identity& identity, std::uint64_t image_bytes);
    /// Returns the finished record and gives up its memory: only checksum() may follow.
    page_aligned_bytes take() { return std::move(bytes_); }
    /// Returns the checksum of the finished record: the next one's predecessor.
    [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

private:
    void append(const void* from, std::size_t bytes);

    page_aligned_bytes bytes_; // header first
    std::uint32_t chunk_count_ = 0;
    std::uint32_t page_count_ = 0;
    std::uint64_t features_ = 0;
    std::uint64_t checksum_ = 0;
};

/// True if the bytes begin with the header of a record, which is then in `header`. Checks only the magic.
bool looks_like_record(std::span<const std::byte> bytes, format::record_header& header);
/// True if the checksum fits. `record` is the header and the payload.
bool record_is_intact(std::span<const std::byte> record);

/// One page change in a record.
struct page_entry {
    const std::byte* at; // where the entry begins in the record
    std::uint64_t page;
    std::uint32_t checksum;
    std::span<const std::byte> ranges; // change_range[], unaligned
    std::span<const std::byte> data;
};
/// Returns the entry that begins there. Precondition: for_each_part() found it sound.
page_entry page_entry_at(const std::byte* at);
/// Copies the changed bytes into `page`, which is 4 KiB.
void apply_ranges(const page_entry& entry, std::byte* page);

/// Totals of what a record changes.
struct record_totals {
    std::uint64_t changed_pages = 0; // in chunks that have a place
    std::uint64_t changed_bytes = 0; // in these pages
    std::uint64_t whole_pages = 0;   // pages with contents, in chunks that it gives a place

    void add(std::span<const std::byte> record, std::uint64_t chunk_pages);
};

/// A chunk that a record gives a place.
struct placed_chunk {
    std::uint64_t chunk;
    bool in_copy_b;
    std::vector<std::uint32_t> checksums; // one per page

    /// True if a page was written.
    [[nodiscard]] bool has_contents() const;
};

/// Returns the part of an intact record that concerns the heap's history, which may be empty. Returns nothing if the
/// record comes from a program that keeps no history, or is damaged (I7).
std::optional<std::span<const std::byte>> events_in(std::span<const std::byte> record);

/// Calls the visitors for each part of an intact record. I7: an attacker may have made an intact record, so every count
/// and offset is checked. Returns false if one is out of bounds. Runs of chunks given back are sorted with gaps
/// between; they may lie beyond the image.
bool for_each_part(std::span<const std::byte> record, std::uint64_t chunk_pages,
                   const std::function<void(placed_chunk)>& chunk, const std::function<void(const page_entry&)>& page,
                   const std::function<void(chunk_range)>& given_back = {});

} // namespace remanence::log
