// The superblock and what it refers to: regions, their checksum tables, the chunk map. On-disk structs and constants
// only; docs/format.md explains them. All integers are little-endian, as on the supported machines.
#pragma once

#include "base/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

// The first bytes of the file: a byte above 127, a name, and line ends, so that text conversions are detected (as in
// PNG).
inline constexpr std::array<char, 8> k_heap_magic = {'\x89', 'R', 'E', 'M', 'H', '\r', '\n', '\x1a'};
// Stands in place of k_heap_magic while the file is an unfinished copy, which must not be opened.
inline constexpr std::array<char, 8> k_copy_magic = {'\x89', 'R', 'E', 'M', 'C', '\r', '\n', '\x1a'};
inline constexpr std::uint32_t k_format_version = 3; // provisional until the first release
// Format 2 has the same superblock, with zeros behind copy_b_offsets. This release can read and upgrade heaps of format
// 2.
inline constexpr std::uint32_t k_format_version_oldest = 2;
inline constexpr std::uint32_t k_endianness = 0x01020304;
inline constexpr std::uint32_t k_checksum_xxh3 = 1;

// Layout of the beginning of the file. Superblock n lies at (n & 1) * k_superblock_bytes.
inline constexpr std::uint64_t k_superblock_bytes = k_page_bytes;
inline constexpr std::uint64_t k_superblock_count = 2;
inline constexpr std::uint64_t k_first_map_offset = k_superblock_count * k_superblock_bytes;
inline constexpr std::uint64_t k_first_map_slot_bytes = k_page_bytes; // two slots
inline constexpr std::uint64_t k_first_table_offset = k_first_map_offset + 2 * k_first_map_slot_bytes;
inline constexpr std::uint64_t k_copy_alignment = 64 * KiB; // so that any kernel page size can map a copy

inline constexpr std::uint64_t k_chunk_bytes_min = 64 * KiB;
inline constexpr std::uint64_t k_chunk_bytes_max = 4 * MiB;
inline constexpr std::size_t k_region_count_max = 64;
inline constexpr std::size_t k_abi_bytes = 128;
inline constexpr std::size_t k_application_bytes = 16;

// Checksum tables. A region's table is a tree of 4 KiB nodes. Each node has two places ("slots"), and its parent tells
// which one is current. A checkpoint writes the other one, so it never overwrites what a durable superblock names (I1).
inline constexpr std::uint64_t k_node_bytes = k_page_bytes;
inline constexpr std::uint64_t k_node_stride = 2 * k_node_bytes;
inline constexpr std::uint64_t k_leaf_pages = k_node_bytes / sizeof(std::uint32_t); // page checksums in a leaf
inline constexpr std::uint64_t k_leaf_span = k_leaf_pages * k_page_bytes;           // heap bytes of a leaf: 4 MiB
inline constexpr std::uint64_t k_region_alignment = k_leaf_span;

/// A parent's reference to a node. Checksum 0 means that the node was never written and is all zeros.
struct node_reference {
    std::uint64_t checksum; // of the node
    std::uint32_t slot;     // 0 or 1
    std::uint32_t zero;
};
static_assert(sizeof(node_reference) == 16 && offsetof(node_reference, slot) == 8);
static_assert(std::is_trivially_copyable_v<node_reference>);
inline constexpr std::uint64_t k_inner_children = k_node_bytes / sizeof(node_reference); // spans 1 GiB

// Bits of superblock::features_incompat. A release that does not know one of them cannot read the heap.
inline constexpr std::uint64_t k_feature_copy_b = 1;        // regions may have a copy B
inline constexpr std::uint64_t k_feature_encodings = 2;     // the chunk map may have encodings besides raw and zero
inline constexpr std::uint64_t k_feature_log_directory = 4; // the log lies where superblock::log_directory says
inline constexpr std::uint64_t k_known_incompat_features = k_feature_copy_b | k_feature_log_directory;

// Bits of superblock::features_ro_compat. A release that does not know one of them can read the heap. It must not write
// to it: the schema, the history, the retained versions or the sizes of blocks would no longer match the heap's
// contents.
inline constexpr std::uint64_t k_feature_schema = 1;         // heap_header::schema_offset names a schema
inline constexpr std::uint64_t k_feature_history = 2;        // history is kept over sessions (superblock::history)
inline constexpr std::uint64_t k_feature_versions = 4;       // superblock::versions names a table of versions
inline constexpr std::uint64_t k_feature_aligned_blocks = 8; // block sizes follow alloc::bytes_on_lines()
inline constexpr std::uint64_t k_feature_red_zones = 16;     // blocks end with a red zone (alloc/red_zones.hpp)
inline constexpr std::uint64_t k_feature_longer_blocks = 32; // blocks may be longer than the sizes they are freed with
inline constexpr std::uint64_t k_known_ro_compat_features =
    k_feature_history | k_feature_aligned_blocks | k_feature_red_zones | k_feature_longer_blocks;

/// A range of the heap's addresses, and where its copies lie in the file.
struct region {
    std::uint64_t heap_offset;   // of its first byte; regions are contiguous, in ascending order
    std::uint64_t bytes;         // multiple of 4 MiB
    std::uint64_t table_offset;  // of its checksum table in the file, a multiple of 4096
    std::uint64_t copy_a_offset; // of its copy A in the file; copy B: superblock::copy_b_offsets
    node_reference root;         // of the checksum table
};
static_assert(sizeof(region) == 48 && offsetof(region, root) == 32);
static_assert(std::is_trivially_copyable_v<region>);

/// Where the chunk map lies: a sorted array of chunk_exception, in the current one of two slots.
struct map_reference {
    std::uint64_t area_offset; // of slot 0 in the file; slot 1 follows
    std::uint64_t slot_bytes;  // of each slot
    std::uint64_t count;       // of exceptions
    std::uint64_t checksum;    // of the exceptions; ignored when there are none
    std::uint32_t slot;        // 0 or 1
    std::uint32_t zero;
};
static_assert(sizeof(map_reference) == 40 && offsetof(map_reference, slot) == 32);

/// Where in the file something lies that is not part of the heap's memory. All zeros: it does not exist.
struct area_reference {
    std::uint64_t offset;   // in the file, a multiple of 4096
    std::uint64_t bytes;    // not 0
    std::uint64_t checksum; // of these bytes
    std::uint32_t version;  // of their layout, counted from 1
    std::uint32_t zero;
};
static_assert(sizeof(area_reference) == 32 && offsetof(area_reference, version) == 24);
static_assert(std::is_trivially_copyable_v<area_reference>);

/// How a run of chunks is stored. A release refuses encodings that it does not know.
enum class chunk_encoding : std::uint32_t {
    raw = 0,  // as in memory, at its copy B
    zero = 1, // not stored: reads as zeros (never committed, or given back)
};

/// A run of chunks that are not in their copy A.
struct chunk_exception {
    std::uint64_t chunk;         // index of the first chunk
    std::uint64_t run_length;    // chunks
    std::uint64_t location;      // in the file; 0 for zero chunks
    std::uint64_t birth_version; // newest commit that placed a chunk of the run here; at most the checkpoint's (R3)
    chunk_encoding encoding;     // unknown encodings: refuse
    std::uint32_t zero;
    std::uint64_t stored_bytes; // length at `location`; 0 for zero chunks
};
static_assert(sizeof(chunk_exception) == 48 && offsetof(chunk_exception, stored_bytes) == 40);
static_assert(std::is_trivially_copyable_v<chunk_exception>);

inline constexpr std::uint32_t k_flag_clean = 1; // closed cleanly: the log is not needed

/// A random number, drawn when a log is begun. The superblock, the log and the records of one session all contain it.
/// It distinguishes logs of copies of one heap, which have the same UUID and epochs.
using session_number = std::array<std::uint8_t, 16>;

/// The root of everything. Written whole, to two places in turn; of the valid ones, the one with the higher sequence is
/// current.
struct superblock {
    std::array<char, 8> magic;         // k_heap_magic
    std::uint32_t format_version;      // k_format_version
    std::uint32_t endianness;          // k_endianness
    std::array<std::uint8_t, 16> uuid; // random, drawn at creation; copies share it
    std::uint64_t sequence;            // number of this superblock, from 0
    std::uint64_t features_compat;     // unknown bits: ignore
    std::uint64_t features_ro_compat;  // unknown bits: read-only
    std::uint64_t features_incompat;   // unknown bits: refuse
    std::uint32_t checksum_algorithm;  // k_checksum_xxh3
    std::uint32_t flags;               // k_flag_clean
    std::uint64_t chunk_bytes;         // a power of two, fixed at creation
    std::uint64_t base;                // address of the heap's first byte, a multiple of 1 GiB
    std::uint64_t epoch;               // R2: of the log records that follow
    std::uint64_t checkpoint_version;  // the last commit that the image holds
    std::uint64_t chain;               // checksum of that commit's record: the first record's predecessor
    std::uint64_t image_bytes;         // committed extent of the heap; multiple of chunk_bytes
    map_reference map;                 // where the chunk map lies
    map_reference versions;            // table of retained versions, not used yet: zeros (k_feature_versions)
    std::uint64_t region_count;        // used entries of `regions`
    std::array<char, k_abi_bytes> abi; // the writer's ABI, zero-terminated
    std::array<region, k_region_count_max> regions; // ascending in heap and file
    std::uint64_t log_begin; // in the log: first record after checkpoint_version; k_log_header_bytes if clean
    std::array<std::uint64_t, k_region_count_max> copy_b_offsets; // in the file, one per region; 0: no copy B yet
    session_number session;                                       // of the last log begun; zeros: none yet
    std::array<char, k_application_bytes> application; // the owning application, zero-terminated; empty: not recorded
    area_reference history;                            // a page: history_limits, then zeros (k_feature_history)
    area_reference log_directory;                      // a page: the path, then zeros (k_feature_log_directory)
    std::array<std::uint8_t, k_superblock_bytes - 4024 - sizeof(std::uint64_t)> zero;
    std::uint64_t checksum; // of everything before it, seeded with the place (0 or 1)
};
static_assert(sizeof(superblock) == k_superblock_bytes);
static_assert(offsetof(superblock, uuid) == 16 && offsetof(superblock, sequence) == 32);
static_assert(offsetof(superblock, chunk_bytes) == 72 && offsetof(superblock, image_bytes) == 112);
static_assert(offsetof(superblock, map) == 120 && offsetof(superblock, region_count) == 200);
static_assert(offsetof(superblock, abi) == 208 && offsetof(superblock, regions) == 336);
static_assert(offsetof(superblock, log_begin) == 3408 && offsetof(superblock, copy_b_offsets) == 3416);
static_assert(offsetof(superblock, session) == 3928 && offsetof(superblock, application) == 3944);
static_assert(offsetof(superblock, history) == 3960 && offsetof(superblock, log_directory) == 3992);
static_assert(offsetof(superblock, zero) == 4024 && sizeof(superblock::zero) == 2 * sizeof(area_reference));
static_assert(offsetof(superblock, checksum) == 4088);
static_assert(std::is_trivially_copyable_v<superblock>);

} // namespace remanence::format
