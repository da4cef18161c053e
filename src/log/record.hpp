// Redo log records in memory: builds a record, and reads one as validated pieces.
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

/// The fields that tie a record to its place in the chain (R2).
struct record_identity {
    session_number session;
    std::uint64_t epoch;
    std::uint64_t version;
    std::uint64_t predecessor;
    std::uint64_t durable_through;
};

/// Builds the record of one commit. Copies the bytes that are added.
class record_builder {
public:
    /// `memory` is reused; it comes from an earlier record.
    explicit record_builder(page_aligned_bytes memory = {}) : bytes_(std::move(memory)) {
        bytes_.reserve(k_page_bytes);
        clear();
    }
    void clear();
    /// Reserves memory for this number of chunks, each with `chunk_pages` pages, for page changes, and for
    /// `event_bytes` of events including their length. Adding these then allocates nothing. Returns the value that
    /// record_bytes() has after all of them were added.
    std::uint64_t reserve(std::size_t chunks, std::size_t chunk_pages, std::size_t pages,
                          std::span<const format::change_range> ranges, std::size_t event_bytes = 0);
    [[nodiscard]] bool empty() const { return chunk_count_ == 0 && page_count_ == 0 && features_ == 0; }

    /// Adds the chunks that are given back: sorted, not empty, with gaps between runs. Must be called before everything
    /// else.
    void give_back(std::span<const chunk_range> chunks);
    /// Adds the commit's events for the heap's history. Must be called before chunks and pages are added.
    void add_events(std::span<const std::byte> events);
    /// Returns record_bytes() of a record that gives back `runs` runs and contains nothing else.
    static std::uint64_t bytes_to_give_back(std::size_t runs);
    void add_chunk(std::uint64_t chunk, bool in_copy_b, std::span<const std::uint32_t> checksums);
    /// Adds a page change. `ranges` lie within `page`, which contains the page's bytes after the change.
    void add_page(std::uint64_t index, std::uint32_t checksum, std::span<const format::change_range> ranges,
                  const std::byte* page);

    /// Returns the size of the finished record, padding included.
    [[nodiscard]] std::uint64_t record_bytes() const { return align_up(bytes_.size(), format::k_record_alignment); }
    /// Seals the record and returns its bytes, which begin at a page boundary and are padded to whole sectors. Valid
    /// until clear().
    std::span<const std::byte> finish(const record_identity& identity, std::uint64_t image_bytes);
    /// Returns the finished record and its memory. Afterwards only checksum() may be called.
    page_aligned_bytes take() { return std::move(bytes_); }
    /// Returns the checksum of the finished record, which the next record names as its predecessor's.
    [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

private:
    void append(const void* from, std::size_t bytes);

    page_aligned_bytes bytes_; // begins with the header
    std::uint32_t chunk_count_ = 0;
    std::uint32_t page_count_ = 0;
    std::uint64_t features_ = 0;
    std::uint64_t checksum_ = 0;
};

/// True if the bytes begin with the header of a record, which is then copied to `header`. Checks only the magic.
bool looks_like_record(std::span<const std::byte> bytes, format::record_header& header);
/// True if the checksum is correct. `record` consists of header and payload.
bool record_is_intact(std::span<const std::byte> record);

/// One page change in a record.
struct page_entry {
    const std::byte* at; // where the entry begins
    std::uint64_t page;
    std::uint32_t checksum;
    std::span<const std::byte> ranges; // change_range[], unaligned
    std::span<const std::byte> data;
};
/// Returns the entry that begins at `at`. Precondition: for_each_part() has accepted it.
page_entry page_entry_at(const std::byte* at);
/// Copies the changed bytes into `page`, which is 4 KiB.
void apply_ranges(const page_entry& entry, std::byte* page);

/// Totals of what a record changes.
struct record_totals {
    std::uint64_t changed_pages = 0; // in stored chunks
    std::uint64_t changed_bytes = 0; // in these pages
    std::uint64_t whole_pages = 0;   // pages with contents, in chunks that the record places

    void add(std::span<const std::byte> record, std::uint64_t chunk_pages);
};

/// A chunk that a record places.
struct placed_chunk {
    std::uint64_t chunk;
    bool in_copy_b;
    std::vector<std::uint32_t> checksums; // one per page

    /// True if a page was written.
    [[nodiscard]] bool has_contents() const;
};

/// Returns the part of an intact record that concerns the heap's history; it may be empty. Returns nothing if the
/// record comes from a program that keeps no history, or is damaged (I7).
std::optional<std::span<const std::byte>> events_in(std::span<const std::byte> record);

/// Calls the visitors for each part of an intact record. Returns false if a count or an offset is out of bounds; all of
/// them are checked, since an attacker may have made an intact record (I7). Visits runs of chunks given back in order,
/// with gaps between them; does not check whether they lie within the image.
bool for_each_part(std::span<const std::byte> record, std::uint64_t chunk_pages,
                   const std::function<void(placed_chunk)>& chunk, const std::function<void(const page_entry&)>& page,
                   const std::function<void(chunk_range)>& given_back = {});

} // namespace remanence::log
