/// \file
/// The options of heap::open() and its like, and the callbacks that they hold. Each member says what it sets, its unit,
/// range and default. "Creation" marks options that are fixed when the heap is created, and ignored later. Depends on
/// the standard library only.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/detail/option_with_part.hpp>
#include <remanence/history_options.hpp>
#include <remanence/procedures.hpp>
#include <remanence/versions.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace remanence {

class heap;
namespace txn {
struct sharing_part; // src/txn/sharing.hpp
extern const sharing_part k_sharing_part;
struct memory_limiter_part; // src/txn/memory_limiter.hpp
extern const memory_limiter_part k_memory_limiter_part;
} // namespace txn
namespace detail {
struct relocation_part; // src/api/relocation_part.hpp
extern const relocation_part k_relocation_part;
extern const relocation_part k_guessing_relocation_part;
} // namespace detail

/// Which processes may have the heap open.
class sharing {
public:
    static const sharing exclusive; ///< this process alone; a second open throws errc::in_use
    /// Any number of processes, all of which must open the heap in this way. One writes at a time. The others read the
    /// version that was newest when their section began, and wait for no writer. Programs that name
    /// `sharing::processes` are linked with the library's code for sharing.
    static const sharing processes;
    friend bool operator==(const sharing&, const sharing&) = default; ///< Returns true if both are the same.

    /// Used by the library only. Null for exclusive.
    [[nodiscard]] constexpr const txn::sharing_part* part() const noexcept { return part_; }

private:
    constexpr explicit sharing(const txn::sharing_part* part) noexcept : part_(part) {}
    const txn::sharing_part* part_;
};
inline constexpr sharing sharing::exclusive{nullptr};
inline constexpr sharing sharing::processes{&txn::k_sharing_part};

/// What a commit waits for. With all three, commits become durable in their order, each as a whole: after a crash the
/// heap is as one of the commits left it, and no earlier commit is missing.
///
/// With all three, a commit that adds memory to the heap (chunks that are committed for the first time) waits until
/// that memory is on the device, and a commit that begins a checkpoint waits until all earlier commits are on the
/// device. With `none` a checkpoint begins only when the log, or memory, has reached twice its limit.
enum class durability {
    durable, ///< waits until the commit, and all before it, are on the device: nothing undoes it
    /// Waits for the operating system only: the commit survives the process, but perhaps not the machine. It is on the
    /// device after log_options::lazy_interval, or with a durable commit before that.
    lazy,
    /// Waits for nothing: the commit is lost if the process dies. It is written with the next stronger commit, or when
    /// 1 MiB of such commits has gathered. If much has changed, it copies the changed pages, as commit_async() does.
    none,
};

/// How a commit finds what changed. The environment variable REMANENCE_TRACKING, set to one of these names, overrides
/// heap_options::tracker in the whole process. Errors: errc::not_supported when the machine lacks the chosen one.
enum class tracking {
    automatic, ///< scan if the machine has it, otherwise fallback
    scan,      ///< the kernel records written pages (Linux 6.7): a commit scans all memory in use
    /// The first write to a page causes a signal: a commit costs only as much as its changes, in a heap of any size.
    /// System calls that write into the heap need heap::touch() first.
    trap,
    fallback, ///< works on any Linux: each commit compares all pages that changed since the last checkpoint
};

/// How far a long operation has got.
struct progress {
    /// The operation.
    enum class phase {
        recovery,   ///< open() applies the log after a crash
        checkpoint, ///< a checkpoint applies the log to the heap's file
        verify,     ///< heap::verify() reads the heap
        relocation  ///< the heap is copied for other addresses
    };
    phase what;                ///< the operation
    std::uint64_t bytes_done;  ///< pages replayed, applied or checked so far, in bytes
    std::uint64_t bytes_total; ///< bytes of the whole operation
};

/// Changes that were not committed and are now discarded: see check_options::on_discard.
struct discarded_changes {
    /// The call that discards them.
    enum class by {
        close,      ///< heap::close()
        destructor, ///< heap::~heap()
        unlock,     ///< heap::unlock(), or the end of a std::unique_lock: its commit has failed
    };
    by whom;                    ///< the call
    std::filesystem::path path; ///< the heap's file
    /// How many changed bytes a commit would have found, counted as heap_stats::changed_bytes. Empty if they could not
    /// be counted: threads were in sections while the heap was destroyed, or exit() was called in a section.
    std::optional<std::uint64_t> bytes;
};

/// How other processes and users may use a heap. A group of heap_options; see docs/guide/processes.md.
struct sharing_options {
    /// With sharing::processes: permits a heap on a file system that other machines, or a program, can change (NFS,
    /// SMB, FUSE and the like). Default false: opening throws errc::not_supported there. All processes must run on this
    /// machine, and on this file system file locks must work and shared mappings must be coherent. Otherwise readers
    /// see parts of several commits, and the heap is damaged.
    bool share_on_network = false;
    /// With sharing::processes: how long open() waits while another process is doing the first opening or the last
    /// closing of the heap. Default 10 s; 0 to 1 hour. Then open() throws errc::in_use, with a message that names that
    /// process and what it does (it may be stopped). close() waits as long, and then leaves the files as a crash does;
    /// no commit is lost.
    std::chrono::milliseconds open_timeout{10'000};
    /// Creation: permission bits of the file, minus the umask. Default 0666; at most 0777. The log gets the permissions
    /// of the file.
    unsigned mode = 0666;
};

/// Where the redo log is, how long it grows, and when it is synced. A group of heap_options; see
/// docs/guide/operations.md.
struct log_options {
    /// The directory of the redo log, perhaps on a faster device than the heap. Not set (the default): the directory
    /// that the heap records. Empty: beside the heap, as NAME-log; in another directory the log is named
    /// NAME-PART_OF_UUID-log. The path is absolute or relative to the current directory. The heap records the directory
    /// when it is opened for writing. Errors: errc::not_found when there is no such directory; errc::invalid_argument
    /// with sharing::processes when another process has the heap open and this would change the directory. No effect
    /// with read_only.
    std::optional<std::filesystem::path> log_directory = {};
    /// Length of the redo log, in bytes, at which a commit begins a checkpoint. A thread of the heap runs it while
    /// commits go on. At twice this length each commit writes a MiB of the checkpoint; at four times, it waits for the
    /// checkpoint. A commit also waits when the memory that a checkpoint frees reaches a quarter of all memory. 0 (the
    /// default): as many bytes as the checkpoint would write, but at least 64 and at most 256 MiB.
    std::uint64_t log_limit_bytes = 0;
    /// With sharing::processes: length of the redo log, in bytes, at which commits fail with errc::readers_behind. The
    /// log becomes so long only while other processes prevent its reuse: processes that are stopped, or get no
    /// processor time, in a read section or a checkpoint. At least twice `log_limit_bytes`. 0 (the default): 16 times
    /// `log_limit_bytes`.
    std::uint64_t log_bytes_max = 0;
    /// How long after a lazy commit the log is synced. Default 200 ms; 1 ms to 1 hour. The heap starts a thread for
    /// this with the first lazy commit. The commit is on the device when that sync is done. A sync that fails poisons
    /// the heap.
    std::chrono::milliseconds lazy_interval{200};
};

/// A limit of resident memory, in bytes. 0: no limit. Programs that convert a number to such a limit are linked with the
/// library's code for it.
class resident_limit {
public:
    constexpr resident_limit() noexcept = default; ///< No limit.
    /// A limit of `bytes`.
    constexpr resident_limit(std::uint64_t bytes) noexcept // NOLINT(google-explicit-constructor): an option's value
        : bytes_(bytes), part_(&txn::k_memory_limiter_part) {}
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return bytes_; } ///< Returns the limit; 0: none.

    /// Used by the library only. Null for a default-constructed limit.
    [[nodiscard]] constexpr const txn::memory_limiter_part* part() const noexcept { return part_; }

private:
    std::uint64_t bytes_ = 0;
    const txn::memory_limiter_part* part_ = nullptr;
};

/// What open() does when other memory lies at a heap's address, and the heap holds addresses. Programs that name one of
/// the last two are linked with the library's code for it.
class relocation {
public:
    static const relocation refused; ///< errc::base_taken
    /// The heap moves to free addresses: each pointer in it is rewritten. With read_only this happens in the memory of
    /// this process; it takes as much memory as the pages with pointers, and the heap must not be shared. Otherwise it
    /// is for good, as relocate() does it. All pointers must be known: see relocate() for what is refused; then open()
    /// throws errc::base_taken, with the reason.
    static const relocation automatic;
    /// For read_only heaps whose types are not known: as automatic, but each word whose value is an address in a block
    /// counts as a pointer. A number may look like one, and is changed then.
    static const relocation guessed;

    /// Used by the library only. Null for refused.
    [[nodiscard]] constexpr const detail::relocation_part* part() const noexcept { return part_; }

private:
    constexpr explicit relocation(const detail::relocation_part* part) noexcept : part_(part) {}
    const detail::relocation_part* part_;
};
inline constexpr relocation relocation::refused{nullptr};
inline constexpr relocation relocation::automatic{&detail::k_relocation_part};
inline constexpr relocation relocation::guessed{&detail::k_guessing_relocation_part};

/// Where a heap is mapped and how it uses memory. A group of heap_options; see docs/guide/operations.md.
struct memory_options {
    /// Address space to reserve, in bytes, at most 14 TiB. This takes no memory. The reserved space grows while the
    /// addresses behind it are free. 0 (the default): 16 GiB.
    std::uint64_t reserve_bytes = 0;
    /// Creation: unit in which the heap gets space in its file, in bytes. A power of two from 64 KiB to 4 MiB. 0 (the
    /// default): 256 KiB.
    std::uint64_t chunk_bytes = 0;
    /// Creation: the address where the heap is mapped, now and later. A multiple of 1 GiB, below 64 TiB. 0 (the
    /// default): random. find_address_space() finds free ones.
    std::uintptr_t base = 0;
    /// What open() does when other memory lies there. Default: it throws errc::base_taken.
    relocation when_taken = relocation::refused;
    /// Creation: no block spans more cache lines or pages than it must. Sizes are rounded up: to a power of two up to 64
    /// bytes, to cache lines below 4 KiB, else to pages. A block begins at a multiple of the largest power of two that
    /// divides its size, at most 64 KiB: one of 128 bytes fills two cache lines that the processor fetches together. One
    /// of 2 MiB or more begins on a huge page. This costs space: blocks of 24 bytes take 32, of 65 take 128, of 5,000
    /// take 8,192. Blocks of earlier releases may lie elsewhere. Default false. Earlier releases open such a heap
    /// read-only.
    bool aligned_blocks = false;
    /// How many bytes of uncommitted changes stay in memory. Beyond that, chunks of them are written to the heap file
    /// early, where no reader sees them, and their memory is returned to the kernel. So one commit may change more than
    /// memory holds. 0 (the default): a quarter of the memory that the process may use, limits of control groups
    /// included. The value is limited to half of that memory, and to at least 8 chunks.
    ///
    /// Chunks are written early by calls that allocate, free or touch memory and, in a heap that is larger than the
    /// limit, by a thread of the heap. While that thread writes chunks, threads that write to the heap wait in our
    /// SIGSEGV handler: a thread that blocks SIGSEGV is killed then. System calls that write into the heap fail with
    /// EFAULT, with every tracker, unless heap::touch() has named their memory.
    std::uint64_t dirty_limit_bytes = 0;
    /// How many bytes of the heap may be resident in this process when a section ends; at least 1 MiB. 0 (the default):
    /// no limit. If more are resident, committed pages are evicted until 7/8 of the limit are left; they are read from
    /// the file when they are used again. Errors: errc::invalid_argument below 1 MiB.
    ///
    /// Nothing is lost: pages that cannot be evicted yet stay, even beyond the limit. These are uncommitted changes (see
    /// dirty_limit_bytes) and changes that no checkpoint has written yet; if the latter take a quarter of the limit, a
    /// checkpoint is due with the next commit. Their before-images take memory besides. The end of a read section
    /// evicts only pages to which nobody has written since they were read. Pages that other processes have mapped, too,
    /// stay until a write section of this process ends; locked pages (mlock(), paging::keep) stay.
    ///
    /// Residence is counted in O(pages of the heap), when the process's resident memory has grown by a sixteenth of the
    /// limit or some time has passed; so for a moment there may be more. heap_stats::resident_bytes shows how much.
    resident_limit resident_limit_bytes = {};
    /// Whether the kernel also reads neighbouring pages when it reads a page of the file. Default true. Choose false
    /// for scattered reads in a heap larger than memory; with false, memory that is read in order is read page by page,
    /// except by packed_map, whose iterators read ahead.
    bool read_ahead = true;
    /// Whether core files include the heap's memory. Default false.
    bool core_dump = false;
};

/// What is checked: in the file when it is opened, and in the program while it runs. A group of heap_options; see
/// docs/guide/debugging.md.
struct check_options {
    /// The application that the heap belongs to, such as "org.x.book": 1 to 15 printable ASCII characters without
    /// spaces. Empty (the default): opens any heap. Creation: recorded in the heap. Later: if the recorded name
    /// differs, or none is recorded, the heap is neither read nor recovered, and opening throws
    /// errc::wrong_application. `rem upgrade --application` records a name.
    std::string application = {};
    /// Whether root() and find_root() accept a type that differs from the stored one only in names of members, as after
    /// a renaming. The next commit records the new names. If members have changed places, root() and find_root() still
    /// throw errc::type_mismatch. Default false. Set it for one run only: it also accepts a member whose meaning
    /// changed together with its name.
    bool accept_renamed_members = false;
    /// Creation, for debugging: each block records its requested size, and is followed by at least 16 bytes of a
    /// pattern. If these bytes were overwritten, a commit that would store them throws errc::corrupt with the place,
    /// and memory keeps its changes; verify() reports them; and freeing the block ends the process. Blocks take 24
    /// bytes more, and a commit checks all blocks on changed pages. Default false. Earlier releases open such a heap
    /// read-only.
    bool red_zones = false;
    /// For debugging: how many of the calls that led to an allocation this process notes for each block, so that
    /// heap::leaks() and messages about blocks can name the place. Works in any heap, and stores nothing in it. An
    /// allocation then takes microseconds, and the process about 16 bytes for each call and 64 for each block. Undo
    /// and redo make it forget the places; in a shared heap, so do rollbacks and the commits of other processes.
    /// Default 0 (none), at most 32.
    detail::call_count leak_frames = {};
    /// With tracking::trap: a write to the heap while no thread is in a write section ends the process (SIGSEGV), after
    /// a message on standard error with the address, the root that it belongs to, and a backtrace. Default false.
    bool catch_stray_writes = false;
    /// Called before close(), the destructor or unlock() discards uncommitted changes, on that thread. Not called by
    /// rollback(), nor when an exception ends a section or a lock, since then discarding is intended. It must not throw
    /// or use the heap. If the heap is a static object, it may run while statics are destroyed.
    ///
    /// With this callback, closing or destroying a heap searches for changes, as a commit does. So does the checking
    /// library (remanence::checked), which reports the first such loss of a heap on standard error.
    std::function<void(const discarded_changes&)> on_discard = {};
};

/// How a heap is opened. Members marked "Creation" are ignored when the heap exists. Errors: errc::invalid_argument for
/// values out of range.
struct heap_options {
    /// Which processes may have the heap open. Default: this one alone.
    remanence::sharing access = remanence::sharing::exclusive; // qualified, since a member below has that name
    /// The durability of commits for which heap::write() or commit() is given none. Default: durable.
    durability commits = durability::durable;
    tracking tracker = tracking::automatic; ///< how commits find changes. Default: what the machine has
    /// Whether close() and the destructor commit uncommitted changes. Default false: they discard them. See
    /// heap::~heap() for exceptions.
    bool commit_at_close = false;
    /// Nothing on the disk changes, and permission to read is enough. Default false. A heap that was not closed is
    /// recovered in memory. Several processes may have a heap open read-only, but none for writing at the same time
    /// (errc::in_use). With sharing::processes other processes may share the heap and write to it: read it in read
    /// sections, which throw errc::closed once none of these processes is left.
    bool read_only = false;
    /// Called now and then during long operations, on the thread that runs them. A checkpoint is run by a thread of the
    /// heap, or by the thread of a commit, verify() or close() that has to wait for the checkpoint. Must not throw or
    /// use the heap. Several threads may call it at once.
    std::function<void(const progress&)> on_progress = {};
    /// What the heap stores so that commits can be undone and redone: see heap::undo(). Default: nothing. If the heap
    /// records a history, that history continues, whatever is set here. Errors: errc::invalid_argument with read_only,
    /// and with sharing::processes unless kept_over_sessions is set: processes that share a heap share one history in
    /// its files.
    ///
    /// With a history, a commit copies what it overwrites, and only close() gives chunks back; asynchronous commits
    /// search for changes before they return. open() makes the first commit of a new heap, which stores its header.
    history_options history = no_history;
    /// The procedures that heap::call() can run, and that undo() needs for steps that are calls. Default: none.
    procedure_set procedures = {};
    /// Converts roots that an older release of the program has stored, before open() returns, in one atomic commit:
    /// `.migrate = rem::migrations().to<library>("library")` (migrate.hpp). Called with the open heap, outside of
    /// sections. If it throws, open() throws the same and the heap is closed. Empty (the default): root() and
    /// find_root() refuse such roots (errc::type_mismatch).
    std::function<void(heap&)> migrate = {};
    /// Opens this version of a history that is kept over sessions (history_options::kept_over_sessions), in place of
    /// the last commit. The number is one that heap::history() or `rem log` shows. Not set (the default): the last
    /// commit. If this is set, `access` has no effect.
    ///
    /// open() maps the newest state, and undoes all changes later than the version, in this process's memory only.
    /// While another process has the heap open for writing, or processes share it, the last commit is copied to memory
    /// first. The version stays what it is, whatever happens to the heap and its history, and does not prevent other
    /// opens.
    ///
    /// Errors: errc::invalid_argument without `read_only`; errc::no_step, with a message that says which versions
    /// exist, when the heap has no such version or no history; errc::no_space when the copy takes more memory than the
    /// process may use. O(steps since the version, and bytes that they changed); if the last commit is copied, also
    /// O(pages in use), in time and memory.
    detail::option_with_part<std::optional<std::uint64_t>, detail::version_part, detail::k_version_part> version = {};
    /// Opens the version that heap::keep() gave this name. Empty (the default): none. Must not be set together with
    /// `version`.
    detail::option_with_part<std::string, detail::version_part, detail::k_version_part> kept_version = {};
    sharing_options sharing = {}; ///< how other processes may use the heap
    log_options log = {};         ///< where the redo log is, and its limits
    memory_options memory = {};   ///< addresses and memory
    check_options checks = {};    ///< checks of file and program
};

} // namespace remanence
