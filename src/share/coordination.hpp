// One heap, many processes: which are attached, which one writes, which version is visible, and what readers still
// need. This is only the protocol of sharing: locks on bytes of the heap's file, and the coordination file NAME-shm.
// It knows nothing of the contents of heap and log; the caller reads and writes these between the protocol's steps.
//
// A visible version survives the death of processes. It survives power loss if its commit was durable. No step waits
// for a process that is dead or stopped, except where its comment says so.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace remanence::share {

/// A commit that others may see.
struct visible_commit {
    std::uint64_t version = 0;
    std::uint64_t chain = 0;       // checksum of its log record
    std::uint64_t log_end = 0;     // where in the log the next record will be written
    std::uint64_t image_bytes = 0; // size of the heap at this version
    std::uint64_t durable_through = 0;
};

/// A current superblock.
struct current_checkpoint {
    std::uint64_t sequence = 0; // of the superblock
    std::uint64_t version = 0;
    std::uint64_t log_begin = 0; // where in the log the records after `version` begin
};

/// Identifies the heap that a coordination file belongs to.
struct heap_identity {
    std::array<std::uint8_t, 16> uuid{};
    std::array<std::uint8_t, 16> session{};
    std::uint64_t epoch = 0;
};

/// A process, as it described itself. If it has died, its number may belong to another process by now.
struct participant {
    int process = 0;
    int thread = 0;
    std::chrono::system_clock::time_point since{};
    // The first 16 characters of the program's name when it attached.
    std::string program;
};

/// An attached process that is in a read section or follows a superblock.
struct reader {
    participant who;
    std::uint64_t version = 0;  // the version that it sees
    bool is_in_the_way = false; // a checkpoint, or its release, waits for this process
};

using os::deadline;

/// The coordination of one open heap. It is an interface so that only programs that attach to a shared heap link the
/// 65 kB of its implementation (docs/decisions/footprint.md). One thread attaches and detaches. Any thread may call
/// the other functions, but of each group below (shared state, reading, writing, checkpoints) only one function at a
/// time.
class coordination {
public:
    enum class role {
        first, // no other process is attached; only recovery may come before become_ready()
        joined // others are attached
    };
    /// The file systems that a heap may be on: only those of this machine, or any (the caller vouches that file locks
    /// and shared mappings work there).
    enum class on { local, any };
    struct attached;
    /// Attaches to the heap. `heap` is the heap's file, open for reading and writing under `path`, not locked. It
    /// must outlive this object.
    /// The first process voids an earlier coordination file. No other process attaches before become_ready().
    /// If another process is about to become ready or to close, waits for that process until the deadline.
    /// Errors: errc::in_use if the heap is open exclusively or under another name, or at the deadline; the message
    /// names the holder. errc::not_supported on a network file system. errc::exists if something else has the
    /// coordination file's name. errc::unsupported_format if processes of another release share the heap.
    static result<attached> attach(os::file_system& files, os::file& heap, const std::string& path, unsigned mode,
                                   deadline until, on where = on::local);
    /// Attaches as a guest, which may only read the heap's file and its coordination file; `heap` is open for
    /// reading. A guest may call the functions for reading, but none that writes; readers() does not list guests.
    /// Returns null if no process shares the heap now. Errors: errc::in_use, exists, not_supported,
    /// unsupported_format, as attach().
    static result<std::unique_ptr<coordination>> attach_to_read(os::file_system& files, os::file& heap,
                                                                const std::string& path, deadline until,
                                                                on where = on::local);
    /// For a guest: fails with errc::closed if all processes that shared the heap have closed it or died. Then the
    /// guest must open the heap again.
    virtual result<void> check_session() = 0;
    /// Removes the coordination file that dead processes may have left. The caller holds the heap's lock exclusively.
    /// errc::exists if that name belongs to a file that is no coordination file.
    static result<void> remove_left_over(os::file_system& files, const std::string& path);
    coordination(const coordination&) = delete;
    coordination& operator=(const coordination&) = delete;
    /// Has the same effect as the death of the process. In a forked child: closes the descriptors; the parent keeps
    /// its locks.
    virtual ~coordination() = default;

    /// For the first process: publishes this state and lets others join. The heap must be recovered, and its log must
    /// exist.
    virtual result<void> become_ready(const heap_identity& heap, const visible_commit& commit,
                                      const current_checkpoint& checkpoint) = 0;
    /// For a process that joined: fails with errc::in_use if the coordination file belongs to another heap.
    virtual result<void> check_identity(const heap_identity& heap) const = 0;

    /// Detaches. After this only the destructor may be called. Returns true if no other process is attached or can
    /// attach: the coordination file is removed, and the caller must close the heap as an exclusive one. Returns false
    /// if other processes have the heap open, or if another process was opening or closing it until the deadline; in
    /// the second case the next process that opens the heap recovers it.
    virtual result<bool> detach(deadline until) = 0;

    // The shared state.

    [[nodiscard]] virtual std::uint64_t visible() const noexcept = 0;
    [[nodiscard]] virtual visible_commit commit() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t checkpoint_sequence() const noexcept = 0;
    [[nodiscard]] virtual current_checkpoint checkpoint() const noexcept = 0;
    /// Returns the released checkpoint. The log before its `log_begin` may be overwritten, and the space that this
    /// checkpoint freed may be reused.
    [[nodiscard]] virtual current_checkpoint released() const noexcept = 0;
    /// True if any process has poisoned the heap: I5 holds for all of them.
    [[nodiscard]] virtual bool is_poisoned() const noexcept = 0;
    virtual void poison() noexcept = 0;
    /// Waits until this version is visible. Returns false at the deadline.
    virtual bool wait_for_version(std::uint64_t version, deadline until) noexcept = 0;
    /// Returns when a commit after this version is visible, or `ends` is true. May return early; at the latest after a
    /// second, since a process may die before it wakes the others.
    virtual void wait_for_commit_after(std::uint64_t version, const std::atomic<bool>& ends) noexcept = 0;
    /// Wakes those who wait for a commit, so that they see that `ends` is true. Does nothing for a guest, who polls.
    virtual void wake_waiting_for_commits() noexcept = 0;

    // Reading: one pin for each process.

    /// Pins `version`, which the view shows: until unpin() no checkpoint changes what the view shows. Returns false,
    /// and pins nothing, if a checkpoint has passed that version: then the caller must first bring the view to a newer
    /// version. Wait-free.
    virtual bool pin(std::uint64_t version) noexcept = 0;
    virtual void unpin() noexcept = 0;
    /// Returns the current superblock, and holds it: until let_go(), neither it nor the log from its `log_begin` on is
    /// overwritten. For a process that follows a superblock or copies records.
    virtual current_checkpoint hold() noexcept = 0;
    virtual void let_go() noexcept = 0;
    /// Returns the version up to which a checkpoint is declared. If this version is greater than this process's pin,
    /// the checkpoint waits for this process.
    [[nodiscard]] virtual std::uint64_t apply_target() const noexcept = 0;
    /// Returns the version that this process pins, if any.
    [[nodiscard]] virtual std::optional<std::uint64_t> pinned() const noexcept = 0;
    /// Raises the pin to `version`. Before, the caller must make private copies of all pages that the checkpoint up to
    /// `version` changes.
    virtual void raise_pin(std::uint64_t version) noexcept = 0;

    // For the thread that makes the private copies for which a checkpoint waits. A checkpoint calls each process that
    // it waits for, repeatedly, so the thread need not poll.

    [[nodiscard]] virtual std::uint32_t calls() const noexcept = 0;
    /// Waits until calls() differs from `seen`. May return spuriously.
    virtual void wait_for_call(std::uint32_t seen) noexcept = 0;
    /// Wakes this process's own thread in wait_for_call(), as a checkpoint does.
    virtual void call_own() noexcept = 0;

    // Writing: one process at a time.

    enum class turn {
        clean,     // the last writer finished its writes
        take_over, // the last writer died: first check the log for records after the visible commit
        timeout,
    };
    /// Waits for the writer lock. If this process held it last and others want it, waits a moment first, to let them
    /// acquire it. errc::poisoned if the heap is poisoned.
    virtual result<turn> take_writer(deadline until) = 0;
    /// Notes that writes may be unfinished. Call it before writing the first byte of any file. After turn::take_over
    /// this is noted already.
    virtual void begin_writing() noexcept = 0;
    /// Makes the commit visible to others. Its record must be in the log file, as durable as `commit` says. May be
    /// called several times for one commit.
    virtual void publish(const visible_commit& commit) noexcept = 0;
    /// Notes that no write is unfinished.
    virtual void end_writing() noexcept = 0;
    virtual void release_writer() noexcept = 0;
    /// Returns the holder of the writer lock, if any.
    [[nodiscard]] virtual std::optional<participant> writer() const = 0;
    [[nodiscard]] virtual bool others_wait_to_write() const noexcept = 0;

    // Checkpoints, and everything else that writes a superblock: one process at a time, the one that holds the
    // checkpoint lock. A process acquires this lock while it holds the writer lock, and never waits for it. A new
    // superblock overwrites the last but one, which readers may hold. So the last one must be released before: then no
    // reader holds an earlier one.

    /// Returns false if another process holds the checkpoint lock.
    virtual result<bool> try_take_checkpoint() = 0;
    /// Declares that the log up to this visible version will be applied to the heap file in place.
    virtual void declare_apply(std::uint64_t version) noexcept = 0;
    /// True if no live process pins an older version than the declared one, and the last checkpoint is released. If
    /// the process that made the last checkpoint died before it released it, this call releases it. Clears the pins of
    /// dead processes, and calls live ones that pin an older version.
    [[nodiscard]] virtual bool may_apply() noexcept = 0;
    /// Makes the checkpoint current. Its superblock must be durable.
    virtual void publish_checkpoint(const current_checkpoint& checkpoint) noexcept = 0;
    /// True if no live process holds a superblock older than the current one: then release() may be called.
    [[nodiscard]] virtual bool may_release() noexcept = 0;
    virtual void release() noexcept = 0;
    virtual void release_checkpoint() noexcept = 0;

    /// Returns the other process that holds the checkpoint lock, if any.
    [[nodiscard]] virtual std::optional<participant> checkpointer() const = 0;
    /// Returns the processes in read sections, oldest version first.
    [[nodiscard]] virtual std::vector<reader> readers() const = 0;
    [[nodiscard]] virtual std::size_t attached_processes() const = 0;

protected:
    coordination() = default;
};

struct coordination::attached {
    std::unique_ptr<coordination> how;
    role as;
};

} // namespace remanence::share
