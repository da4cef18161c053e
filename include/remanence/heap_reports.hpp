/// \file
/// What a heap reports about itself: steps of its history, roots, users and counters, and what checks have found.
/// Depends on the standard library only.
#pragma once

#include <remanence/latency_histogram.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence {

/// One state that the heap can go to, with the step that led to it: see heap::history().
struct history_step {
    std::uint64_t version;                      ///< heap::version() after the step
    std::optional<std::uint64_t> parent;        ///< version of the state before it; empty for the oldest state
    std::string name;                           ///< the name that group() or write() gave it; empty: none
    std::chrono::system_clock::time_point time; ///< when its last commit was made
    /// Upper bound of the bytes that the step stores: what it changed, in words of 8 bytes, plus 8 bytes for each
    /// contiguous stretch of such words. Pages that were committed for the first time, or rewritten in bulk, count in
    /// full.
    std::uint64_t bytes;
    bool is_present;  ///< memory is in this state
    std::string kept; ///< the name that keep() gave it; empty: it is not kept
};

/// A process that shares a heap.
struct heap_user {
    int process;                                 ///< process number, in its own PID namespace
    int thread;                                  ///< number of the thread that began the section, in that namespace
    std::string program;                         ///< as the system names it; empty if the system does not tell
    std::chrono::system_clock::time_point since; ///< when the section began
};

/// A process in a read section.
struct heap_reader : heap_user {
    std::uint64_t version; ///< the version that the process sees
};

/// One root, as heap::roots() lists it.
struct root_info {
    std::string name;    ///< the root's name
    std::string type;    ///< readable name of the stored type
    std::uint64_t bytes; ///< size of the root's object
};

/// Counters since the heap was opened, and gauges (present values): see heap::stats().
struct heap_stats {
    std::uint64_t commits;     ///< commits that wrote a record
    std::uint64_t checkpoints; ///< finished checkpoints
    /// Commits and other calls that had to write a part of the checkpoint that a thread of the heap runs.
    std::uint64_t checkpoint_waits;
    /// Bytes that commits found changed, in words of 8; pages committed for the first time count in full.
    std::uint64_t changed_bytes;
    std::uint64_t logged_bytes; ///< bytes of records written to the redo log
    std::uint64_t image_bytes;  ///< bytes of pages written to the heap file
    /// Part of image_bytes, written before the commit (memory_options::dirty_limit_bytes).
    std::uint64_t spilled_bytes;
    /// All bytes written to the heap file and the redo log, including superblocks, tables and the zeros that are
    /// written to the log.
    std::uint64_t written_bytes;
    /// Changes that unlock() could not commit, counted as changed_bytes; see on_discard.
    std::uint64_t discarded_bytes;
    /// Waits for the device: syncs of files and directories, and durable writes.
    std::uint64_t syncs;
    /// Durations of commits that wrote a record, with their work for checkpoints. For asynchronous commits: the
    /// duration of the call.
    latency_histogram commit_times;
    /// For how long commits waited for earlier asynchronous ones that were not in the log yet: see heap::commit_async().
    std::chrono::nanoseconds point_wait{};
    std::uint64_t log_used_bytes;  ///< gauge: records not yet applied
    std::uint64_t log_limit_bytes; ///< log length at which a commit begins a checkpoint; see log_options
    /// Gauge: memory of before-images (copies of pages as they were committed, until the next checkpoint).
    std::uint64_t before_image_bytes;
    /// Gauge: bytes that the running checkpoint has written. Once a commit (or another such call) finds the checkpoint
    /// done, `checkpoints` counts it, and this and the next member are 0 again.
    std::uint64_t checkpoint_done_bytes;
    std::uint64_t checkpoint_total_bytes; ///< gauge: bytes that the running checkpoint has to write
    std::uint64_t heap_bytes;             ///< gauge: length of the committed heap, from its base address
    std::uint64_t allocated_bytes;        ///< gauge: memory in live blocks, rounded to 8 bytes or to pages
    // The first two are 0 while neither the heap nor an arena of it has a limit of resident memory: to count takes
    // O(pages of the heap).
    std::uint64_t resident_bytes; ///< gauge: bytes of the heap's memory that are resident in this process
    /// Gauge: part of resident_bytes, in pages that the process has written and not evicted since: uncommitted changes,
    /// committed ones that no checkpoint has written yet, and new memory that is not mapped from the file yet.
    std::uint64_t dirty_bytes;
    std::uint64_t evicted_bytes; ///< bytes evicted since the heap was opened, to keep within limits
    // Gauges of a heap that processes share; 0 in an exclusive one. Threads of a process that read at the same time see
    // the same version, and count as one reader.
    /// Shared heap: processes in read sections; readers() lists them.
    std::uint64_t readers;
    /// Shared heap: the oldest version that a reader sees; 0: no reader.
    std::uint64_t oldest_read_version;
    std::chrono::nanoseconds oldest_read_age{}; ///< shared heap: how long the oldest open read section has been open
    /// "scan", "trap" or "fallback"; "none" when the heap is read-only.
    std::string tracker;
    // What the last open did:
    std::uint64_t recovered_commits;    ///< log records replayed by the open; 0 after a clean close
    std::uint64_t recovered_bytes;      ///< size of the replayed log records
    std::chrono::nanoseconds open_time; ///< how long the open took, recovery included
};

/// What heap::verify() found. A sound heap has no problems.
struct verify_report {
    /// Something that is wrong.
    struct problem {
        std::string what;     ///< one sentence
        std::uint64_t offset; ///< offset of the first page concerned, in the heap file; or error::k_no_offset
    };
    std::uint64_t pages_checked = 0;       ///< pages of the file compared with their checksums
    std::uint64_t log_records_checked = 0; ///< records of the redo log
    std::uint64_t blocks_checked = 0;      ///< blocks of the allocator
    std::vector<problem> problems;         ///< empty when nothing is wrong
    /// Returns true if there are no problems.
    [[nodiscard]] bool clean() const noexcept { return problems.empty(); }
};

/// Blocks of one size.
struct size_class {
    std::uint64_t block_bytes; ///< usable size of each block; above 64 KiB a power of two
    std::uint64_t blocks;      ///< number of blocks
};

/// The blocks that no root reaches: see heap::leaks(). For a volatile heap, those that it still had when it was
/// destroyed.
struct leak_report {
    std::uint64_t blocks = 0;        ///< number of blocks
    std::uint64_t bytes = 0;         ///< usable bytes of these blocks, red zones included
    std::vector<size_class> classes; ///< by size
    /// Blocks of one type of object.
    struct type {
        /// Type of the objects that heap::make() or arena::make() made, or for which a volatile_allocator allocated;
        /// empty: all other blocks.
        std::string name;
        std::uint64_t blocks = 0;          ///< number of blocks
        std::uint64_t requested_bytes = 0; ///< bytes that the program asked for
    };
    /// With leak_frames: the most bytes first. In a volatile heap, also with red zones.
    std::vector<type> types;
    /// Blocks that were allocated at one place in the program.
    struct place {
        /// The call stack, the innermost call first, as the C library formats it. Empty for blocks of a heap with a
        /// file that were allocated before it was opened, by another process, or before an undo.
        std::vector<std::string> calls;
        std::uint64_t blocks = 0;          ///< number of blocks
        std::uint64_t requested_bytes = 0; ///< bytes that the program asked for; usable bytes if that is not known
    };
    std::vector<place> places; ///< with leak_frames: the most bytes first
    /// Returns true if no block has leaked.
    [[nodiscard]] bool clean() const noexcept { return blocks == 0; }
};

/// What heap::check_pointers() found. The list is empty if all pointers stay in the heap.
struct pointer_report {
    /// A pointer that leaves the heap.
    struct pointer {
        std::string root;     ///< the root that leads to the pointer; empty when none does
        std::string type;     ///< type of that root
        std::uint64_t offset; ///< offset of the pointer from the heap's base
        std::string what;     ///< where the pointer leads, and what to do instead
    };
    std::uint64_t blocks_checked = 0; ///< blocks looked at
    std::uint64_t pointers_found = 0; ///< pointers that leave the heap
    std::vector<pointer> pointers;    ///< the first 1,000 of these pointers
    /// Returns true if no pointer leaves the heap.
    [[nodiscard]] bool clean() const noexcept { return pointers_found == 0; }
};

} // namespace remanence
