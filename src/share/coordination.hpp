// One heap, many processes: who is attached, who writes, which version is visible, and what readers still need. This
// is the protocol of sharing by itself: locks on bytes of the heap's file, and the coordination file NAME-shm. It
// knows nothing of the contents of heap and log; the caller does the work between its steps.
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
    std::uint64_t log_end = 0;     // where in the log the next record goes
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

/// A process, as it describes itself. The system may have given its number to another process since.
struct participant {
    int process = 0;
    int thread = 0;
    std::chrono::system_clock::time_point since{};
    // The first 16 characters of the program's name when it attached.
    std::string program;
};

/// An attached process that is in a read section or re-attaches.
struct reader {
    participant who;
    std::uint64_t version = 0;  // the version that it sees
    bool is_in_the_way = false; // holds up a checkpoint, or the release of one
};

using os::deadline;

/// The coordination of one open heap. This interface keeps out the 65 kB of code behind it; only a program that
/// attaches to a heap links those (docs/decisions/footprint.md). Attaching and detaching are for one thread. Any
/// thread may call the rest, one call of each group at a time.
class coordination {
public:
    enum class role {
        first, // alone: only recovery may come before become_ready()
        joined // others are attached
    };
    /// The file systems that a heap may be on: only those of this machine, or any (the caller vouches for them).
    enum class on { local, any };
    struct attached;
    /// Attaches to the heap. `heap` is the heap's file, open for reading and writing under `path`, not locked. It
    /// must outlive this object.
    /// The first process voids an earlier coordination file. No other process gets in before become_ready().
    /// Waits until the deadline for a process that is about to become ready or to close.
    /// Errors: errc::in_use if the heap is open exclusively or under another name, or at the deadline; the message
    /// names the holder. errc::not_supported on a network file system. errc::exists if something else has the
    /// coordination file's name. errc::unsupported_format if processes of another release share the heap.
    static result<attached> attach(os::file_system& files, os::file& heap, const std::string& path, unsigned mode,
                                   deadline until, on where = on::local);
    /// Attaches as a guest, which may only read the heap's file and its coordination file; `heap` is open for
    /// reading. A guest reads as others do. It must not call what writes, and readers() does not list it. Returns
    /// null if nobody shares the heap now. Errors: errc::in_use, exists, not_supported, unsupported_format, as
    /// attach().
    static result<std::unique_ptr<coordination>> attach_to_read(os::file_system& files, os::file& heap,
                                                                const std::string& path, deadline until,
                                                                on where = on::local);
    /// For a guest: fails with errc::closed if the processes that shared the heap have closed it or died. The guest
    /// cannot go on then.
    virtual result<void> check_session() = 0;
    /// Removes the coordination file that dead processes may have left. The caller holds the heap's lock exclusively.
    /// errc::exists if something else has that name.
    static result<void> remove_left_over(os::file_system& files, const std::string& path);
    coordination(const coordination&) = delete;
    coordination& operator=(const coordination&) = delete;
    /// Has the effect of the process's death. In a forked child: closes the descriptors, and takes nothing from the
    /// parent.
    virtual ~coordination() = default;

    /// For the first process: the heap is recovered, its log exists, and this is its state. Others may join from now
    /// on.
    virtual result<void> become_ready(const heap_identity& heap, const visible_commit& commit,
                                      const current_checkpoint& checkpoint) = 0;
    /// For a process that joined: errc::in_use if the coordination file belongs to another heap.
    virtual result<void> check_identity(const heap_identity& heap) const = 0;

    /// Detaches. Only the destructor may be called after it. True: nobody else is attached and nobody gets in. The
    /// coordination file is gone, and the caller closes the heap as an exclusive one. False: others go on with the
    /// heap. Or, if another process that opens or closes it was in the way until the deadline, the next one recovers
    /// it.
    virtual result<bool> detach(deadline until) = 0;

    // The shared state.

    [[nodiscard]] virtual std::uint64_t visible() const noexcept = 0;
    [[nodiscard]] virtual visible_commit commit() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t checkpoint_sequence() const noexcept = 0;
    [[nodiscard]] virtual current_checkpoint checkpoint() const noexcept = 0;
    /// Returns the released checkpoint. The log before it may be overwritten, and the space that it freed may be
    /// reused.
    [[nodiscard]] virtual current_checkpoint released() const noexcept = 0;
    /// I5, for every process.
    [[nodiscard]] virtual bool is_poisoned() const noexcept = 0;
    virtual void poison() noexcept = 0;
    /// Waits until this version is visible. Returns false at the deadline.
    virtual bool wait_for_version(std::uint64_t version, deadline until) noexcept = 0;

    // Reading: one pin for each process.

    /// Pins `version`, which the view shows: the view stays exactly there until unpin(). Returns false, and pins
    /// nothing, if a checkpoint has passed that version: then the caller must move the view forward first. Wait-free.
    virtual bool pin(std::uint64_t version) noexcept = 0;
    virtual void unpin() noexcept = 0;
    /// Returns the current superblock, and keeps it and the log from its begin on until let_go(). For a process that
    /// re-attaches or copies records.
    virtual current_checkpoint hold() noexcept = 0;
    virtual void let_go() noexcept = 0;
    /// Returns the version up to which a checkpoint is declared. If it is greater than this process's pin, this
    /// reader holds the checkpoint up.
    [[nodiscard]] virtual std::uint64_t apply_target() const noexcept = 0;
    /// Returns the version that this process pins, if any.
    [[nodiscard]] virtual std::optional<std::uint64_t> pinned() const noexcept = 0;
    /// Raises the pin to `version`. The reader of the pinned version has made private copies of all that the
    /// checkpoint up to `version` changes.
    virtual void raise_pin(std::uint64_t version) noexcept = 0;

    // For the thread that makes those copies. A checkpoint calls each process in its way, again and again. So the
    // thread need not poll.

    [[nodiscard]] virtual std::uint32_t calls() const noexcept = 0;
    /// Waits until the count of calls differs from `seen`. May return early for no reason.
    virtual void wait_for_call(std::uint32_t seen) noexcept = 0;
    /// Calls this process's own thread, as a checkpoint does.
    virtual void call_own() noexcept = 0;

    // Writing: one process at a time.

    enum class turn {
        clean,     // the last writer ended in order
        take_over, // the last writer died: check first what it left behind the visible commit
        timeout,
    };
    /// Waits for the writer lock. A process that has just had it first waits a moment for others that want it.
    /// errc::poisoned if the heap is.
    virtual result<turn> take_writer(deadline until) = 0;
    /// Call it before writing the first byte of any file. After take_over the state is set already.
    virtual void begin_writing() noexcept = 0;
    /// Makes the commit visible to others. Its record is in the file, as durable as the commit says. May be called
    /// several times.
    virtual void publish(const visible_commit& commit) noexcept = 0;
    /// Says that no write is unfinished.
    virtual void end_writing() noexcept = 0;
    virtual void release_writer() noexcept = 0;
    /// Returns the holder of the writer lock, if any.
    [[nodiscard]] virtual std::optional<participant> writer() const = 0;
    [[nodiscard]] virtual bool others_wait_to_write() const noexcept = 0;

    // Checkpoints, and all else that writes a superblock: one process at a time. A process takes this right while it
    // has the writer lock, and never waits for it. A new superblock replaces the one before the last, which readers may
    // hold: so the last one must be released first.

    /// Returns false if another process makes a checkpoint.
    virtual result<bool> try_take_checkpoint() = 0;
    /// Declares that the log up to this visible version is going to be applied in place.
    virtual void declare_apply(std::uint64_t version) noexcept = 0;
    /// True if no live process pins less than the declared version, and the last checkpoint is released. If that
    /// one's maker died before it released, this call does. Clears the pins of dead processes, and calls live ones
    /// that are in the way.
    [[nodiscard]] virtual bool may_apply() noexcept = 0;
    /// Makes the checkpoint current: its superblock is durable.
    virtual void publish_checkpoint(const current_checkpoint& checkpoint) noexcept = 0;
    /// True if no live process holds an earlier superblock. Then release() may follow.
    [[nodiscard]] virtual bool may_release() noexcept = 0;
    virtual void release() noexcept = 0;
    virtual void release_checkpoint() noexcept = 0;

    /// Returns the other process that makes a checkpoint, if any.
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
