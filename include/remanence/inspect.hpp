// Looking at heaps from outside: what a heap's files say, how its memory is used, what of it is damaged, copies of its last
// commit. Nobody is kept from the heap meanwhile, and but for upgrade() nothing is changed: the heap may be open for writing
// elsewhere, or be opened while it is read. The program `rem` prints what these functions return.
//
// Damage is something to report: functions throw `error` where nothing can be said of the heap (errc::not_found,
// permission_denied, not_a_heap, unsupported_format; errc::in_use when it was written to faster than it could be read), or as
// they say. Each takes one thread, and memory for the redo log and the checksum tables.
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

/// What is being done, and how far it has got, in bytes. Called by the thread that asked, now and then.
enum class step { reading_log, checking, copying };
using progress_callback = std::function<void(step what, std::uint64_t done, std::uint64_t total)>;

/// Something that is not as it was committed.
struct damage {
    errc code;
    std::string what;                          // for people: what, where, and what to do
    std::string path;                          // the file; empty when that is not known
    std::uint64_t offset = error::k_no_offset; // in that file
    std::uint64_t bytes = 0;                   // from there on; 0: not known
};

enum class root_state {
    whole,          // its object, and everything that it reaches
    object_whole,   // its object; what that reaches cannot be told, since the allocator's structures are damaged
    reaches_damage, // its object is whole, something that it may reach is not
    damaged,        // its object is not, or not even found
};

struct surveyed_root {
    std::string name;
    std::string type;
    std::string structure;    // its members, of structs; empty when the heap does not have it
    std::uint64_t object = 0; // heap offset
    std::uint64_t bytes = 0;  // of the object
    std::uint64_t fingerprint_hash = 0;
    std::uint32_t fingerprint_algorithm = 0;
    root_state state = root_state::whole;             // known after verify()
    std::uint64_t damage_offset = error::k_no_offset; // in the heap file: the first damage met
};

/// The redo log.
struct log_contents {
    bool present = false;
    std::uint64_t file_bytes = 0;
    std::uint64_t commits = 0;      // that the image lacks
    std::uint64_t record_bytes = 0; // of their records
    std::uint64_t changed_pages = 0;
    std::uint64_t changed_bytes = 0;
    std::uint64_t whole_pages = 0; // written whole, outside of the log
};

/// How the allocator uses the heap's memory.
struct memory_use {
    /// Blocks of more than half of `bytes_max` up to it.
    struct size_class {
        std::uint64_t bytes_max = 0;
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0; // rounded as they lie in the heap
    };
    std::vector<size_class> classes; // those with blocks, the smallest first
    std::uint64_t blocks = 0;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t slabs = 0;           // of small blocks
    std::uint64_t slab_free_bytes = 0; // in holes between them
    std::uint64_t free_runs = 0;       // of whole pages
    std::uint64_t free_run_bytes = 0;
    std::uint64_t longest_free_run_bytes = 0;
    std::uint64_t metadata_bytes = 0; // pages of the allocator's own that were written
    /// How well the heap can serve requests from memory that it has, as a share of how well it could if all free pieces were one:
    /// of the holes between small blocks and the runs of pages, as volatile_heap_stats::availability says. 1: nothing is free.
    double availability = 1;
    /// allocated_bytes as a share of the pages that blocks lie on, and metadata_bytes.
    double page_efficiency = 1;
};

/// What verify() has compared.
struct checked_parts {
    std::uint64_t pages = 0;
    std::uint64_t blocks = 0;
    bool allocator = false; // whether it could be checked
};

/// Words that look like pointers out of the heap, told by their value: they may be numbers.
struct suspicious_words {
    struct word {
        std::string root;         // that it is reached from; empty when none is known
        std::string type;         // of that root
        std::uint64_t offset = 0; // in the heap
        std::string what;         // for people
    };
    std::uint64_t found = 0;
    std::vector<word> first; // at most 1,000
};

/// The history that lies beside a heap, if its program keeps one over sessions. Damage of it is none of the heap, which opens with a
/// history that begins anew.
struct checked_history {
    std::string path;
    bool is_whole = false; // it leads to the heap's last commit
    std::string problem;   // why not, in a sentence
    std::uint64_t entries =
        0; // that are sound, from the file's beginning on: one for each commit, after the first ones
    std::uint64_t through_version = 0; // of the last of them
    std::uint64_t sound_bytes = 0;     // of these: the damage begins there, or what does not count
    std::uint64_t versions = 0;        // that can be reached
    std::uint64_t kept = 0;            // of these
};

/// A heap as of its last commit, or of the last one before the damage.
struct report {
    std::string path; // absolute, symbolic links resolved
    std::uint64_t version = 0;
    std::vector<damage> problems;
    bool is_all_checked = true; // false: it was written to meanwhile, and there may be more damage

    // the current superblock; a heap of which none is left has no more than a problem.
    std::array<std::uint8_t, 16> heap_id{};
    std::uint32_t format_version = 0;
    std::string application;                         // check_options::application; empty: not recorded
    std::optional<history_options> recorded_history; // that is kept over sessions; none: the heap records none
    std::string abi;
    std::uint64_t base_address = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t sequence = 0;
    std::uint64_t epoch = 0;
    std::uint64_t checkpoint_version = 0; // of the image
    bool is_clean = false;                // else the next open for writing recovers it
    bool is_open_elsewhere = false;       // for writing
    std::optional<std::uint64_t>
        torn_superblock; // where the other one lies, if it is torn as a power loss leaves one: no damage

    log_contents log;
    std::uint64_t file_bytes = 0;
    std::uint64_t heap_bytes = 0;   // committed
    std::uint64_t region_bytes = 0; // that have their place in the file

    // look() and verify(): by name.
    std::vector<surveyed_root> roots;
    // look()
    std::uint64_t allocated_bytes = 0;
    std::uint64_t free_bytes = 0; // in pages that were taken before
    // survey_memory(); nothing when the allocator's structures are damaged
    std::optional<memory_use> memory;
    // verify()
    checked_parts checked;
    std::optional<suspicious_words> pointers; // if they were asked for, and can be told
    std::optional<checked_history>
        history; // if there is one; not of a damaged heap, nor of one that was written to meanwhile
};

/// Who has a heap open.
struct users {
    enum class open_as {
        closed,    // nobody, as far as /proc shows
        exclusive, // one process, for writing
        read_only, // any number of them
        shared,    // any number of them, with sharing::processes
        opening,   // one process, which is about to share it, as the first
        closing,   // one process, the last of those that shared it
    };
    struct user {
        int process;                                // its number, in its own PID namespace
        int thread;                                 // that began the section, likewise; 0: of a heap that is not shared
        std::string program;                        // as the system names it
        bool writes;                                // has the writer lock, of a shared heap
        std::optional<std::uint64_t> reads_version; // in a read section of a shared heap
        std::optional<std::chrono::system_clock::time_point>
            since;               // when the section began; not known of those that may read only
        bool is_stopped = false; // by a signal or a debugger, as far as /proc shows
    };
    std::string path; // absolute, symbolic links resolved
    open_as how = open_as::closed;
    std::uint64_t version = 0;   // of a shared heap: of the last commit
    std::vector<user> processes; // of a heap that is not shared: those that /proc shows to this user
};

/// Takes no lock and waits for nobody. Of a shared heap it tells what its processes have noted, all of it as of about the same
/// moment. errc::unsupported_format: they are of another release. O(processes), and of a heap that is not shared O(/proc).
users who_uses(const std::string& path);

/// What superblock, header, redo log and root directory say. O(log and checksum tables).
report look(const std::string& path, const progress_callback& on_progress = {});

/// What the redo log holds, and how the heap's memory is used. O(log + heap / 4096).
report survey_memory(const std::string& path, const progress_callback& on_progress = {});

/// Reads everything and compares: pages with their checksums, records, tables and the allocator's structures with each other;
/// says of each root whether it is whole. The stored schema of each root is checked, too: one that is damaged is a problem, and the root is
/// whole. With `with_pointers` also looks for words that look like pointers out of the heap. Where not even a superblock is left, that is
/// the one problem. O(heap), and O(roots · heap) when there is damage.
report verify(const std::string& path, bool with_pointers = false, const progress_callback& on_progress = {});

enum class existing { refused, replaced };
enum class copied_history {
    left, ///< the copy has a history, if the heap has one, which begins with the copied commit
    taken ///< with NAME-history: steps and kept versions, which is there after the heap. errc::no_step: there is none, or it is damaged
};

/// Copies the last commit to the file `to`: clean, without a log, durable once this returns; or nothing is at its name, or
/// what was there before. Each page is checked. The copy grows under the name `to`-new, locked, with which `begun` is called
/// once it is there: for who has to remove it when a signal ends the process. A heap that is written to meanwhile is
/// copied in several rounds. errc::exists, unless it is to be replaced, and when the log of another heap is in the way;
/// errc::corrupt, truncated when the heap is damaged; errc::no_space, errc::in_use. O(file).
void copy(const std::string& path, const std::string& to, existing there = existing::refused,
          const progress_callback& on_progress = {},
          const std::function<void(const std::string& unfinished)>& begun = {},
          copied_history history = copied_history::left);

/// The same bytes, in order, handed to `sink` in pieces of up to 1 MiB; it may throw. What went out cannot be taken back: when
/// the heap was written to meanwhile, so that the pieces do not make a whole copy, this throws errc::in_use.
void copy(const std::string& path, const std::function<void(std::span<const std::byte>)>& sink,
          const progress_callback& on_progress = {});

struct upgraded {
    std::uint32_t format_before = 0;
    std::uint32_t format = 0;
    std::uint64_t recovered_commits = 0; // that the log of the older format had
    bool changed = false;                // else it was as it was wanted
};

/// Brings a heap to the format of this release, in place, and records whose it is, unless `application` is empty; recovers it
/// first if its program died. Durable once this returns; cut short anywhere, it leaves a heap of the older format or of this
/// one, with all its commits. errc::in_use; errc::wrong_application when it is another application's. O(log).
upgraded upgrade(const std::string& path, std::string_view application = {});

/// Whether it can be one: 1 to 15 printable characters of ASCII, none of them a space.
[[nodiscard]] bool may_be_application(std::string_view name) noexcept;

} // namespace remanence::inspect
