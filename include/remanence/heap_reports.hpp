// What a heap tells of itself: its steps, roots, users and counters, and what its checks found. Depends on the standard library only.
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
    std::uint64_t version;                      ///< heap::version() after it
    std::optional<std::uint64_t> parent;        ///< version of the state before it; none: the oldest one there is
    std::string name;                           ///< that its group() or write() gave it; empty: none
    std::chrono::system_clock::time_point time; ///< of its last commit
    std::uint64_t
        bytes; ///< that it keeps at most: what it changed, in words of 8 bytes, and 8 bytes for each stretch; all of pages
               ///< that were committed first, or rewritten in bulk
    bool is_present;  ///< memory is in this state
    std::string kept; ///< the name that keep() gave it; empty: it is not kept
};

/// A process that shares a heap.
struct heap_user {
    int process;         ///< its number, in its own PID namespace
    int thread;          ///< that began the section, likewise
    std::string program; ///< as the system names it; empty if it does not tell
    std::chrono::system_clock::time_point since;
};

/// One that is in a read section.
struct heap_reader : heap_user {
    std::uint64_t version; ///< that it sees
};

/// One root, as roots() lists it.
struct root_info {
    std::string name;
    std::string type; ///< readable name of the stored type
    std::uint64_t bytes;
};

/// Counters since the heap was opened, and gauges.
struct heap_stats {
    std::uint64_t commits; ///< commits that wrote a record
    std::uint64_t checkpoints;
    std::uint64_t
        checkpoint_waits; ///< commits, and the like, that wrote a part of a checkpoint which the heap's thread was to write
    std::uint64_t changed_bytes;      ///< by commits: what differed, in words of 8 bytes; all of a page committed first
    std::uint64_t logged_bytes;       ///< records written to the redo log
    std::uint64_t image_bytes;        ///< pages written to the heap file
    std::uint64_t spilled_bytes;      ///< of these, before a commit took them (memory_options::dirty_limit_bytes)
    std::uint64_t written_bytes;      ///< to both files, all there is: superblocks, tables and the log's zeros, too
    std::uint64_t discarded_bytes;    ///< changes that unlock() found uncommitted, counted alike: see on_discard
    std::uint64_t syncs;              ///< waits for the device: syncs of files and directories, and durable writes
    latency_histogram commit_times;   ///< of the commits that wrote a record, with what they do for checkpoints;
                                      ///< of asynchronous ones, the time of the call
    std::uint64_t log_used_bytes;     ///< gauge: records not yet applied
    std::uint64_t log_limit_bytes;    ///< at so many a commit begins a checkpoint; see log_options
    std::uint64_t before_image_bytes; ///< gauge: memory held for committed content not yet applied
    /// Gauges, of the checkpoint that is under way: bytes of its pages that are written, and all. It counts in
    /// `checkpoints`, and both are 0 again, when the next commit, or the like, finds it done.
    std::uint64_t checkpoint_done_bytes;
    std::uint64_t checkpoint_total_bytes;
    std::uint64_t heap_bytes;      ///< gauge: committed extent of the heap
    std::uint64_t allocated_bytes; ///< gauge: memory in live blocks, rounded to 8 bytes or to pages
    // Gauges, of a heap that processes share; 0 in an exclusive one. Threads of one process share its view, and count as one reader.
    std::uint64_t readers;                      ///< processes in read sections; readers() lists them
    std::uint64_t oldest_read_version;          ///< that one of them sees; 0: there is none
    std::chrono::nanoseconds oldest_read_age{}; ///< since when the longest of those sections is open
    std::string tracker;                        ///< "scan", "trap" or "fallback"; "none" when the heap is read-only
    // What the last open did:
    std::uint64_t recovered_commits;    ///< log records replayed; 0 after a clean close
    std::uint64_t recovered_bytes;      ///< their size
    std::chrono::nanoseconds open_time; ///< how long it took, recovery included
};

/// What verify() found. A heap without problems has an empty list.
struct verify_report {
    struct problem {
        std::string what;     ///< one sentence
        std::uint64_t offset; ///< in the heap file, of the first page if there are several; or error::k_no_offset
    };
    std::uint64_t pages_checked = 0;
    std::uint64_t log_records_checked = 0;
    std::uint64_t blocks_checked = 0;
    std::vector<problem> problems;
    [[nodiscard]] bool clean() const noexcept { return problems.empty(); }
};

/// What check_pointers() found. A heap all of whose pointers stay in it has an empty list.
struct pointer_report {
    struct pointer {
        std::string root;     ///< that leads to it; empty when none does
        std::string type;     ///< of that root
        std::uint64_t offset; ///< of the word, from the heap's base
        std::string what;     ///< where it leads, and what to do instead
    };
    std::uint64_t blocks_checked = 0;
    std::uint64_t pointers_found = 0;
    std::vector<pointer> pointers; ///< the first thousand
    [[nodiscard]] bool clean() const noexcept { return pointers_found == 0; }
};

} // namespace remanence
