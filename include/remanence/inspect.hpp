/// \file
/// Examines heaps from outside: what a heap's files say, how its memory is used, and what is damaged; and copies a
/// heap's last commit. The program `rem` prints what these functions return. Except upgrade(), they change nothing and
/// prevent no process from using the heap: it may be open for writing elsewhere, or be opened while it is read.
///
/// Damage is reported, not thrown. Functions throw `error` when nothing can be said about the heap: errc::not_found,
/// errc::permission_denied, errc::not_a_heap, errc::unsupported_format, errc::in_use (the heap was written to faster
/// than it could be read), and the codes that each function lists. Each call uses one thread, and memory for the redo
/// log and the checksum tables.
#pragma once

#include <remanence/error.hpp>
#include <remanence/history_options.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::inspect {

/// The part of the work that is reported.
enum class step {
    reading_log, ///< reading the redo log
    checking,    ///< comparing pages and structures
    copying      ///< copying pages
};
/// Reports how far a call has got, in bytes. Called now and then, on the thread of the call.
using progress_callback = std::function<void(step what, std::uint64_t done, std::uint64_t total)>;

/// A part of a heap's files that is not as it was committed.
struct damage {
    errc code;                                 ///< the kind
    std::string what;                          ///< for people: what, where, and what to do
    std::string path;                          ///< the file; empty when unknown
    std::uint64_t offset = error::k_no_offset; ///< offset in that file
    std::uint64_t bytes = 0;                   ///< damaged length from there; 0: unknown
};

/// How far damage affects a root.
enum class root_state {
    whole, ///< its object, and everything that it reaches, is whole
    /// Its object is whole. What the object reaches is unknown, since the allocator's structures are damaged.
    object_whole,
    reaches_damage, ///< its object is whole; something that it may reach is damaged
    damaged,        ///< its object is damaged, or cannot be found
};

/// A root, as its heap's files describe it.
struct surveyed_root {
    std::string name; ///< the root's name
    std::string type; ///< readable name of the stored type
    /// The members of its structs; empty when the heap does not store them.
    std::string structure;
    std::uint64_t object = 0;                         ///< heap offset of the object
    std::uint64_t bytes = 0;                          ///< size of the object
    std::uint64_t fingerprint_hash = 0;               ///< fingerprint of the type
    std::uint32_t fingerprint_algorithm = 0;          ///< how the fingerprint was computed
    root_state state = root_state::whole;             ///< known after verify()
    std::uint64_t damage_offset = error::k_no_offset; ///< offset in the heap file of the first damage found
};

/// What the redo log holds.
struct log_contents {
    bool present = false;            ///< there is a log
    std::uint64_t file_bytes = 0;    ///< length of its file
    std::uint64_t commits = 0;       ///< commits that the heap file lacks
    std::uint64_t record_bytes = 0;  ///< size of the log records of these commits
    std::uint64_t changed_pages = 0; ///< pages that these commits change
    std::uint64_t changed_bytes = 0; ///< bytes that these commits change
    std::uint64_t whole_pages = 0;   ///< pages written whole, outside of the log
};

/// How the allocator uses the heap's memory.
struct memory_use {
    /// Blocks whose size is above half of `bytes_max`, up to `bytes_max`.
    struct size_class {
        std::uint64_t bytes_max = 0; ///< the largest size of the class
        std::uint64_t blocks = 0;    ///< number of blocks
        std::uint64_t bytes = 0;     ///< bytes of these blocks, as rounded by the allocator
    };
    std::vector<size_class> classes;          ///< classes with blocks, the smallest first
    std::uint64_t blocks = 0;                 ///< number of live blocks
    std::uint64_t allocated_bytes = 0;        ///< bytes of the live blocks
    std::uint64_t slabs = 0;                  ///< slabs of small blocks
    std::uint64_t slab_free_bytes = 0;        ///< holes between small blocks
    std::uint64_t free_runs = 0;              ///< free runs of whole pages
    std::uint64_t free_run_bytes = 0;         ///< bytes of the free runs
    std::uint64_t longest_free_run_bytes = 0; ///< length of the longest free run
    std::uint64_t metadata_bytes = 0;         ///< written pages of the allocator's own structures
    /// How well the heap can serve requests from memory that it has, as a share of how well it could if all free memory
    /// were one piece. Computed from the holes between small blocks and the free runs of pages, as
    /// volatile_heap_stats::availability says. 1: nothing is free.
    double availability = 1;
    /// allocated_bytes as a share of metadata_bytes and the pages that blocks lie on.
    double page_efficiency = 1;
};

/// What verify() has compared.
struct checked_parts {
    std::uint64_t pages = 0;  ///< pages compared with their checksums
    std::uint64_t blocks = 0; ///< blocks checked
    bool allocator = false;   ///< the allocator's structures could be checked
};

/// Words whose values look like addresses outside of the heap. They may be numbers.
struct suspicious_words {
    /// One such word.
    struct word {
        std::string root;         ///< a root that leads to the word; empty when none is known
        std::string type;         ///< type of that root
        std::uint64_t offset = 0; ///< offset of the word in the heap
        std::string what;         ///< description for people
    };
    std::uint64_t found = 0; ///< number of all such words
    std::vector<word> first; ///< the first 1,000
};

/// The history beside a heap, if its program keeps one over sessions. A damaged history is no damage of the heap, which
/// then opens with a history that begins anew.
struct checked_history {
    std::string path;      ///< file of the history
    bool is_whole = false; ///< the history leads to the heap's last commit
    std::string problem;   ///< a sentence that says why the history is not whole
    /// Number of undamaged entries from the file's beginning, up to the first damaged one. After some entries at the
    /// head of the file, there is one entry per commit.
    std::uint64_t entries = 0;
    std::uint64_t through_version = 0; ///< version of the last undamaged entry
    /// Length of these entries in bytes. Behind them, the file is damaged or has unused bytes.
    std::uint64_t sound_bytes = 0;
    std::uint64_t versions = 0; ///< versions that can be reached
    std::uint64_t kept = 0;     ///< kept versions among these
};

/// A heap as its last commit left it, or the last commit before the damage.
struct report {
    std::string path;             ///< absolute, symbolic links resolved
    std::uint64_t version = 0;    ///< number of the commit
    std::vector<damage> problems; ///< empty when nothing is damaged
    bool is_all_checked = true;   ///< false: the heap was written to meanwhile, and there may be more damage

    // The following members are read from the current superblock. If both superblocks are damaged, the report contains
    // this one problem and nothing else.
    std::array<std::uint8_t, 16> heap_id{}; ///< the heap's UUID
    std::uint32_t format_version = 0;       ///< format version of the file
    std::string application;                ///< check_options::application; empty: not recorded
    /// The recorded history's options; empty: the heap records none.
    std::optional<history_options> recorded_history;
    std::string abi;                      ///< layout of the standard library of the program that created the heap
    std::uint64_t base_address = 0;       ///< where the heap is mapped
    std::uint64_t chunk_bytes = 0;        ///< memory_options::chunk_bytes
    std::uint64_t sequence = 0;           ///< sequence number of the current superblock
    std::uint64_t epoch = 0;              ///< number of the session
    std::uint64_t checkpoint_version = 0; ///< version that the heap file has without the log
    bool is_clean = false;                ///< false: the next open for writing recovers the heap
    bool is_open_elsewhere = false;       ///< a process has the heap open for writing
    /// Offset of the other superblock, if it is torn as by a power loss. That is not damage.
    std::optional<std::uint64_t> torn_superblock;

    log_contents log;               ///< the redo log
    std::uint64_t file_bytes = 0;   ///< length of the heap file
    std::uint64_t heap_bytes = 0;   ///< length of the committed heap, from its base address
    std::uint64_t region_bytes = 0; ///< bytes of heap memory that have a place in the file

    std::vector<surveyed_root> roots;  ///< look() and verify(): by name
    std::uint64_t allocated_bytes = 0; ///< look(): bytes in live blocks
    std::uint64_t free_bytes = 0;      ///< look(): free bytes in pages that were used before
    /// survey_memory(): empty when the allocator's structures are damaged.
    std::optional<memory_use> memory;
    checked_parts checked;                    ///< verify()
    std::optional<suspicious_words> pointers; ///< verify() with `with_pointers`; empty if they cannot be found
    /// verify(): the history, if there is one. Empty for a damaged heap, and for one that was written to meanwhile.
    std::optional<checked_history> history;
};

/// The processes that have a heap open.
struct users {
    /// How a heap is open.
    enum class open_as {
        closed,    ///< in no process, as far as /proc shows
        exclusive, ///< in one process, for writing
        read_only, ///< in any number of processes
        shared,    ///< in any number of processes, all with sharing::processes
        opening,   ///< a process is doing the first opening of a shared heap
        closing,   ///< a process is doing the last closing of a shared heap
    };
    /// One process.
    struct user {
        int process; ///< process number, in its own PID namespace
        /// Number of the thread that began the section, in that namespace; 0 for a heap that is not shared.
        int thread;
        std::string program;                        ///< as the system names it
        bool writes;                                ///< shared heap: the process holds the writer lock
        std::optional<std::uint64_t> reads_version; ///< shared heap: the version that its read section sees
        /// When the section began. Empty for processes without permission to write to the heap.
        std::optional<std::chrono::system_clock::time_point> since;
        bool is_stopped = false; ///< by a signal or a debugger, as far as /proc shows
    };
    std::string path;              ///< absolute, symbolic links resolved
    open_as how = open_as::closed; ///< how the heap is open
    std::uint64_t version = 0;     ///< shared heap: version of the last commit
    std::vector<user> processes;   ///< if not shared: those that /proc shows to this user
};

/// Returns the processes that have the heap open. Acquires no lock and does not wait. For a shared heap it reports what
/// the processes have recorded in the coordination file, as of one moment or nearly so. Errors:
/// errc::unsupported_format when the processes are of another release. O(processes); for a heap that is not shared
/// O(/proc).
users who_uses(const std::string& path);

/// Reports the contents of the superblock, the header, the redo log and the directory of roots. O(log and checksum
/// tables).
report look(const std::string& path, const progress_callback& on_progress = {});

/// Reports what the redo log holds, and how the heap's memory is used. O(log + heap / 4096).
report survey_memory(const std::string& path, const progress_callback& on_progress = {});

/// Reads everything and compares it: pages with their checksums; records, tables and the allocator's structures with
/// each other. Reports for each root whether it is whole. A damaged schema is reported as a problem, but its root still
/// counts as whole. With `with_pointers` it also searches for words that look like pointers out of the heap. If no
/// superblock is left, that is the only problem. O(heap); with damage O(roots · heap).
report verify(const std::string& path, bool with_pointers = false, const progress_callback& on_progress = {});

/// What copy() does with an existing file.
enum class existing {
    refused, ///< errc::exists
    replaced ///< the copy takes its place
};
/// What copy() does with a history that is kept over sessions.
enum class copied_history {
    /// The old history is not copied. If the heap has a history, that of the copy begins with the copied commit.
    left,
    /// The history is copied too, with steps and kept versions (NAME-history, after the heap). Errors: errc::no_step
    /// when there is none, or it is damaged.
    taken
};

/// Copies the last commit to the file `to`: a clean heap without a log, durable once this returns. If copy() fails, the
/// file `to` is as before. The checksum of each page is compared. The copy is written to the file `to`-new, which is
/// locked; `begun` is called with that name once the file exists, so that the caller can remove it when a signal ends
/// the process. A heap that is written to meanwhile is copied in several rounds. Errors: errc::exists, unless the file
/// is to be replaced, and when another heap's log is in the way; errc::corrupt and errc::truncated for a damaged heap;
/// errc::no_space, errc::in_use. O(file).
void copy(const std::string& path, const std::string& to, existing there = existing::refused,
          const progress_callback& on_progress = {},
          const std::function<void(const std::string& unfinished)>& begun = {},
          copied_history history = copied_history::left);

/// Passes the bytes of a copy of the last commit to `sink`, in order, in pieces of up to 1 MiB. `sink` may throw.
/// Errors: errc::in_use when the heap was written to meanwhile; the pieces passed so far are then no copy.
void copy(const std::string& path, const std::function<void(std::span<const std::byte>)>& sink,
          const progress_callback& on_progress = {});

/// What upgrade() did.
struct upgraded {
    std::uint32_t format_before = 0;     ///< format of the file before
    std::uint32_t format = 0;            ///< format of the file now
    std::uint64_t recovered_commits = 0; ///< commits in the log of the older format
    bool changed = false;                ///< false: nothing was to be done
};

/// Converts a heap to the format of this release, in place, and records `application` unless that is empty. Recovers
/// the heap first if its program died. Durable once this returns. If upgrade() is interrupted, the heap has the older
/// format or this one, with all commits. Errors: errc::in_use; errc::wrong_application when another application is
/// recorded. O(log).
upgraded upgrade(const std::string& path, std::string_view application = {});

/// Returns true if `name` can be recorded as an application: 1 to 15 printable ASCII characters without spaces.
[[nodiscard]] bool may_be_application(std::string_view name) noexcept;

} // namespace remanence::inspect
