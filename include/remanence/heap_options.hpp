// How a heap is opened, and what is told of it meanwhile.
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
} // namespace txn

/// Who may have the heap open.
class sharing {
public:
    static const sharing exclusive; ///< this process alone; a second open is errc::in_use
    /// Any number of processes, each with its own view: one writes at a time, the others read the version that was newest when their section
    /// began, and wait for nobody. All of them must say so. It brings that part of the library into the program.
    static const sharing processes;
    friend bool operator==(const sharing&, const sharing&) = default;

    /// For the library; null: exclusive.
    [[nodiscard]] constexpr const txn::sharing_part* part() const noexcept { return part_; }

private:
    constexpr explicit sharing(const txn::sharing_part* part) noexcept : part_(part) {}
    const txn::sharing_part* part_;
};
inline constexpr sharing sharing::exclusive{nullptr};
inline constexpr sharing sharing::processes{&txn::k_sharing_part};

/// What a commit waits for. Commits become durable in their order, whatever this says, and each one as a whole: after a
/// crash the heap is as of some commit, and none before it is missing.
enum class durability {
    durable, ///< until it is on the device, with all before it: nothing takes it back
    lazy, ///< for the operating system only, so that it survives the process, but perhaps not the machine. It is on the
          ///< device after log_options::lazy_interval, if not with a durable commit before
    none, ///< for nothing: lost with the process. Goes along with the next commit that is not like this, and at once
    ///< when 1 MiB has gathered. With all three, what is waited for: that new memory which a commit brings (chunks
    ///< committed for the first time) is on the device, and, when a commit begins a checkpoint, all before it, too:
    ///< with `none` not before the log, or memory, has reached twice its limit. With `none`, much is copied, as by commit_async()
};

/// How a commit finds what changed. The environment variable REMANENCE_TRACKING, if set to one of these names, forces it
/// for the whole process. A way that the machine lacks is errc::not_supported.
enum class tracking {
    automatic, ///< scan where it works, else fallback
    scan,      ///< the kernel notes written pages (Linux 6.7): a commit costs a look at the memory in use
    trap,      ///< the first write to a page is a trap: a commit costs its changes only, in a heap of any size; system
               ///< calls that write into the heap need touch() before
    fallback,  ///< any Linux: all pages changed since the last checkpoint are compared again by each commit
};

/// What a long operation reports while it runs.
struct progress {
    enum class phase { recovery, checkpoint, verify };
    phase what;
    std::uint64_t bytes_done; ///< of the work at hand: pages replayed, applied or checked
    std::uint64_t bytes_total;
};

/// What became of changes that nobody committed: see check_options::on_discard.
struct discarded_changes {
    enum class by {
        close,
        destructor,
        unlock, ///< or the end of a std::unique_lock: only what is committed before stays
    };
    by whom;
    std::filesystem::path path; ///< of the heap
    /// That a commit would have taken: counted as heap_stats::changed_bytes. Nothing, when threads were in sections while the
    /// heap was destroyed, or exit() was called in one: then nobody could count.
    std::optional<std::uint64_t> bytes;
};

/// Who else may use a heap: other processes, other users. A group of heap_options; docs/guide/processes.md.
struct sharing_options {
    /// With sharing::processes: share also a heap on a file system that other machines, or a program, may have a hand in (NFS, SMB, FUSE
    /// and the like), which is errc::not_supported else. All processes must run on this machine, and the file system must keep locks and
    /// shared mappings the same for all of them. Where it does not, readers see commits mixed, and the heap is damaged.
    bool share_on_network = false;
    /// With sharing::processes: how long open() waits for another process that opens the heap as the first, or closes it as the last; 0 to
    /// 1 hour. Then it is errc::in_use, which names that process and says what it does: it may be stopped. close() waits as long, and then
    /// leaves the heap as a crash does: with all commits.
    std::chrono::milliseconds open_timeout{10'000};
    /// Creation: permission bits of the file, at most 0777, less the umask. The log gets those of the file.
    unsigned mode = 0666;
};

/// The redo log: where it lies, how long it becomes, and when it is synced. A group of heap_options; docs/guide/operations.md.
struct log_options {
    /// Where the redo log lies, on a faster device than the heap perhaps: recorded in the heap when it is opened for writing, and
    /// kept from then on by all who open it without this. An absolute path, or one relative to the current directory, of a directory
    /// that is there (errc::not_found). Empty: beside the heap. There the log is NAME-log, elsewhere NAME-PART_OF_UUID-log. With
    /// sharing::processes it is for the first process to name another one (errc::invalid_argument). With read_only it has no effect.
    std::optional<std::filesystem::path> log_directory = {};
    /// Redo log bytes at which a commit begins a checkpoint, which a thread of the heap's carries out while commits go on.
    /// Each that finds twice as many writes a MiB of it; one that finds four times as many waits for it, as one does when the
    /// memory that a checkpoint frees has come to a quarter of what there is. 0: as many as the checkpoint would write, but at least 64
    /// MiB and at most 256 MiB.
    std::uint64_t log_limit_bytes = 0;
    /// With sharing::processes: redo log bytes at which commits fail with errc::readers_behind. The log becomes so long only while
    /// other processes keep it from being reused: those that are stopped, or starved, in a read section or at a checkpoint. At least
    /// twice `log_limit_bytes`. 0: 16 times that.
    std::uint64_t log_bytes_max = 0;
    /// After a lazy commit the log is synced when this has passed, by a thread that the heap starts with the first one: from
    /// 1 ms to 1 hour. The commit is on the device when that sync is done. A sync that fails poisons the heap.
    std::chrono::milliseconds lazy_interval{200};
};

/// Addresses and memory of a heap. A group of heap_options; docs/guide/operations.md.
struct memory_options {
    /// Address space to reserve, in bytes, up to 14 TiB, with a `base` below 64 TiB; it extends while the addresses behind
    /// it are free. 0: 16 GiB.
    std::uint64_t reserve_bytes = 0;
    /// Creation: unit of placement, a power of two from 64 KiB to 4 MiB. 0: 256 KiB.
    std::uint64_t chunk_bytes = 0;
    /// Creation: where the heap is mapped, now and ever after; a multiple of 1 GiB. 0: chosen at random.
    std::uintptr_t base = 0;
    /// Creation: no block touches more cache lines or pages than it must. One of up to a cache line (64 bytes) never straddles one, from
    /// a cache line on it begins on one, and from a page (4 KiB) on on a page. It costs space: blocks of 24 bytes take 32, of 65 take
    /// 128, of 5,000 take 8,192. Releases before this one open such a heap for reading only.
    bool aligned_blocks = false;
    /// Bytes that may be written and not committed before chunks of them are written to the heap file, early and invisibly, and
    /// their memory goes back to the kernel: so that one commit may build, or change, more than memory holds. 0: a quarter of the
    /// memory that the process may use, by the limits of its control groups, too; never more than half of that, nor less than 8
    /// chunks. It is done when memory is allocated, freed or touched, and by a thread of the heap's, if the heap is larger than
    /// that, which lets all who write to the heap wait meanwhile: in a handler of SIGSEGV, so that a thread which blocks that signal
    /// is killed if it writes then. System calls that write into the heap then fail with EFAULT, whatever the tracker, unless
    /// heap::touch named their memory.
    std::uint64_t dirty_limit_bytes = 0;
    /// When a page is read from the file, the kernel reads others around it. Without: that page alone, which is right for a heap
    /// larger than memory that is looked at here and there. A packed_map reads ahead by itself as it is iterated over; other
    /// memory that is gone through in order is then read page by page.
    bool read_ahead = true;
    /// Include the heap's memory in core files.
    bool core_dump = false;
};

/// What is checked: of the file when it is opened, and of the program while it runs. A group of heap_options; docs/guide/debugging.md.
struct check_options {
    /// Whose heap it is: 1 to 15 printable characters of ASCII, none of them a space, as "org.x.book"; or empty. Creation:
    /// recorded in the heap. Later: what is recorded must be the same, or nothing of the heap is read or recovered:
    /// errc::wrong_application; likewise where nothing is recorded, until `rem upgrade --application` does. Empty: opens any heap.
    std::string application = {};
    /// A root whose type differs from the stored one in nothing but names of members is found, as after a renaming; the next
    /// commit records the new names. Members that changed places with others are errc::type_mismatch all the same. Set it for one
    /// run, since it also takes a member that was given another meaning with another name.
    bool accept_renamed_members = false;
    /// Creation: each block has 16 bytes of a pattern or more behind it, and says what was asked for, for debugging. When these bytes
    /// were written over, a commit that would keep this throws errc::corrupt with the place, and memory keeps its changes; verify()
    /// reports it; and a block that is freed so ends the process. Blocks take 24 bytes more. A commit looks at all blocks on the pages
    /// that changed. Releases before this one open such a heap for reading only.
    bool red_zones = false;
    /// With tracking::trap only: a write to the heap while no thread is in a write section ends the process (SIGSEGV),
    /// after a message on standard error with its address, the root it belongs to, and a backtrace.
    bool catch_stray_writes = false;
    /// Called when close(), the destructor or unlock() discards changes that were not committed, before it does, on that thread.
    /// Not for rollback(), nor for a section or a lock that an exception ends: that is their purpose. Must not throw or use the
    /// heap; may be called while statics are destroyed, if the heap is one. With it, and with the checking library (remanence::checked),
    /// which says the first such loss of a heap on standard error, the end of a heap costs a look for changes, as a commit does.
    std::function<void(const discarded_changes&)> on_discard = {};
};

/// How a heap is opened. Members marked "Creation" are ignored when the heap exists. Values out of range are
/// errc::invalid_argument.
struct heap_options {
    remanence::sharing access = remanence::sharing::exclusive; // qualified, since a member below has that name
    durability commits = durability::durable; ///< of commits that do not say; heap::write() and commit() may
    tracking tracker = tracking::automatic;
    /// close() and the destructor commit what is not committed, instead of discarding it; but see heap::~heap().
    bool commit_at_close = false;
    /// Nothing on the disk changes, and permission to read is enough. A heap that was not closed is recovered in memory. Several
    /// processes may have it open so, but none beside them for writing; with sharing::processes, others may be sharing it when it is
    /// opened, and write to it: then it is looked at in read sections, which throw errc::closed when none of them is left.
    bool read_only = false;
    /// Called now and then during long operations, on the thread that runs them: for a checkpoint that commits go on beside
    /// this is a thread of the heap's, or that of a commit, verify() or close() that has to wait for it. Must not throw or
    /// use the heap, and may be called by several threads at once.
    std::function<void(const progress&)> on_progress = {};
    /// Commits can be undone and redone, until the heap is closed or rebuilt, or over sessions: heap::undo(). Not with read_only, and with
    /// sharing::processes only kept_over_sessions (errc::invalid_argument): one history for all. Where the heap records a history, that one
    /// goes on, whatever is set here or left out.
    /// A commit then copies what it overwrites, and gives chunks back only at close(); asynchronous ones look for changes before they return.
    /// The first commit of a new heap, that of its header, is made by open().
    history_options history = no_history;
    /// What heap::call() can call, and what undo() needs to pass a step that is such a call.
    procedure_set procedures = {};
    /// Roots that an older release of the program has stored are converted before open() returns, in one atomic commit:
    /// `.migrate = rem::migrations().to<library>("library")` (migrate.hpp). Called with the open heap, in no section; what it throws,
    /// open() throws, and the heap is closed. Empty: root() and find_root() refuse such roots (errc::type_mismatch).
    std::function<void(heap&)> migrate = {};
    /// Opens this version of the history that lies beside the heap (history_options::kept_over_sessions), instead of the last commit: a
    /// number that heap::history() or `rem log` shows. Only with `read_only` (errc::invalid_argument). The newest state is mapped, and
    /// what has changed since is taken back in memory of the process: O(history, and bytes that changed since). While another process
    /// has the heap open for writing, or processes share it, the last commit is copied to memory instead of being mapped: O(pages in use)
    /// in time and memory besides, and errc::no_space when that is more than the process may use. Such a version stays what it is
    /// whatever becomes of the heap and its history, and keeps nobody from the heap; `access` makes no difference. errc::no_step,
    /// saying what there is: the heap has no such version, or no history.
    detail::option_with_part<std::optional<std::uint64_t>, detail::version_part, detail::k_version_part> version = {};
    /// The same, by the name that heap::keep() gave it. Not together with `version`.
    detail::option_with_part<std::string, detail::version_part, detail::k_version_part> kept_version = {};
    sharing_options sharing = {};
    log_options log = {};
    memory_options memory = {};
    check_options checks = {};
};

} // namespace remanence
