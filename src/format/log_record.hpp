// The redo log: a file header, followed by records, each on a sector boundary. On-disk structs and constants only.
#pragma once

#include "base/units.hpp"
#include "format/superblock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace remanence::format {

inline constexpr std::array<char, 8> k_log_magic = {'\x89', 'R', 'E', 'M', 'L', '\r', '\n', '\x1a'};
inline constexpr std::uint32_t k_log_version = 2;
inline constexpr std::uint32_t k_log_version_without_session = 1;   // beside heaps of format 2
inline constexpr std::uint64_t k_record_magic = 0x44524f4345524d52; // "RMRECORD"
inline constexpr std::uint64_t k_log_header_bytes = k_page_bytes;
// The log grows by segments, which are written before use. A segment is as long as all earlier ones together, within
// these bounds.
inline constexpr std::uint64_t k_log_segment_bytes_min = 64 * KiB;
inline constexpr std::uint64_t k_log_segment_bytes_max = 1 * MiB;
inline constexpr std::uint64_t k_record_alignment = k_sector_bytes;

/// Returns the total length of the segments that `bytes` of records need: at least one segment.
constexpr std::uint64_t log_segments_around(std::uint64_t bytes) {
    return bytes > k_log_segment_bytes_max ? align_up(bytes, k_log_segment_bytes_max)
                                           : std::bit_ceil(std::max(bytes, k_log_segment_bytes_min));
}
/// Returns the total length of the whole segments that fit into `bytes`.
constexpr std::uint64_t log_segments_within(std::uint64_t bytes) {
    if (bytes < k_log_segment_bytes_min)
        return 0;
    return bytes > k_log_segment_bytes_max ? align_down(bytes, k_log_segment_bytes_max) : std::bit_floor(bytes);
}

/// The first sector of the log file; records begin at k_log_header_bytes.
struct log_header {
    std::array<char, 8> magic;    // k_log_magic
    std::uint32_t format_version; // k_log_version
    std::uint32_t zero;
    std::array<std::uint8_t, 16> uuid; // of the heap
    session_number session;            // began with this log
    std::uint64_t epoch;               // began with this log
    std::uint64_t superblock_sequence; // of the superblock that began this log
    std::uint64_t checksum;            // of everything before it
};
static_assert(sizeof(log_header) == 72 && offsetof(log_header, uuid) == 16 && offsetof(log_header, session) == 32);
static_assert(offsetof(log_header, checksum) == 64 && std::is_trivially_copyable_v<log_header>);

/// The header of a log beside a heap of format 2. Its records contain the heap's UUID in place of the session.
struct log_header_without_session {
    std::array<char, 8> magic;    // k_log_magic
    std::uint32_t format_version; // k_log_version_without_session
    std::uint32_t zero;
    std::array<std::uint8_t, 16> uuid; // of the heap
    std::uint64_t epoch;               // began with this log
    std::uint64_t superblock_sequence; // of the superblock that began this log
    std::uint64_t checksum;            // of everything before it
};
static_assert(sizeof(log_header_without_session) == 56 && offsetof(log_header_without_session, checksum) == 48);
static_assert(std::is_trivially_copyable_v<log_header_without_session>);

// Bits of record_header::features. A release that does not know one of them refuses the log.
inline constexpr std::uint64_t k_feature_contents_in_log = 1; // the log has the contents of fresh chunks
inline constexpr std::uint64_t k_feature_given_back = 2;      // the payload begins with the chunks that are given back
inline constexpr std::uint64_t k_feature_events = 4;          // the payload has events of the heap's history
inline constexpr std::uint64_t k_known_record_features =
    k_feature_contents_in_log | k_feature_given_back | k_feature_events;

/// One commit. After it: with k_feature_given_back, the number of runs as u64 and that many given_back_chunks; with
/// k_feature_events, the length of the events as u64 and the events (history_event.hpp); then `chunk_count` chunks,
/// then `page_count` page changes.
struct record_header {
    std::uint64_t magic;           // k_record_magic
    session_number session;        // as in the log's header
    std::uint64_t epoch;           // as in the log's header
    std::uint64_t version;         // number of the commit
    std::uint64_t predecessor;     // R2: checksum of the previous record; for the first one, the superblock's chain
    std::uint64_t durable_through; // R2: newest version that was durable when this record was made
    std::uint64_t payload_bytes;   // length of what follows, without padding
    std::uint64_t image_bytes;     // committed extent of the heap after this commit
    std::uint32_t chunk_count;     // chunks written whole
    std::uint32_t page_count;      // page changes
    std::uint64_t features;        // unknown bits: refuse
    std::uint64_t checksum;        // of the payload, seeded with the checksum of this header, in which this field is 0
};
static_assert(sizeof(record_header) == 96 && offsetof(record_header, session) == 8);
static_assert(offsetof(record_header, payload_bytes) == 56 && offsetof(record_header, checksum) == 88);
static_assert(std::is_trivially_copyable_v<record_header>);

/// Chunks that hold nothing from this record on. Changes to them in earlier records of the log are not applied (R3).
/// Until a superblock covers this record, their copies retain their bytes, and no record stores the chunks again.
struct given_back_chunks {
    std::uint64_t first; // index of the first chunk: heap offset / chunk size
    std::uint64_t count; // not 0; runs are sorted, with gaps between
};
static_assert(sizeof(given_back_chunks) == 16 && std::is_trivially_copyable_v<given_back_chunks>);

/// A chunk that was written whole before this record: a fresh one to its copy A, any other to the copy that it was not
/// in. After it: one u32 checksum for each page. 0 means a page of zeros, which is not written for a fresh chunk. If
/// all checksums of a fresh chunk are 0, none of its pages was written, and page changes of the same record contain its
/// contents.
struct whole_chunk {
    std::uint64_t chunk_and_copy; // k_in_copy_b or 0, combined with the chunk's index
    static constexpr std::uint64_t k_in_copy_b = std::uint64_t{1} << 63;
    [[nodiscard]] std::uint64_t chunk() const { return chunk_and_copy & ~k_in_copy_b; }
    [[nodiscard]] bool is_in_copy_b() const { return (chunk_and_copy & k_in_copy_b) != 0; }
};
static_assert(sizeof(whole_chunk) == 8);

/// True if no page of a fresh chunk was written. `checksums`: those behind its whole_chunk.
constexpr bool is_without_contents(std::span<const std::uint32_t> checksums) {
    return std::ranges::all_of(checksums, [](std::uint32_t checksum) { return checksum == 0; });
}

/// A page of which some bytes changed. After it: `range_count` change_range structs, then the bytes of these ranges, in
/// the same order.
struct page_change {
    std::uint32_t page_low;    // page index in the heap, lower 32 bits
    std::uint16_t page_high;   // the upper 16 bits
    std::uint16_t range_count; // at most 256
    std::uint32_t checksum;    // of the page after the change
    [[nodiscard]] std::uint64_t page() const { return (std::uint64_t{page_high} << 32) | page_low; }
};
static_assert(sizeof(page_change) == 12 && offsetof(page_change, checksum) == 8);

struct change_range {
    std::uint16_t offset; // in the page; a multiple of 8
    std::uint16_t bytes;  // a multiple of 8
};
static_assert(sizeof(change_range) == 4);

} // namespace remanence::format
