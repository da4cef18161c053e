// One heap, many processes: who is attached, who writes, which version is visible, and what readers still need. This is the
// protocol of sharing by itself: locks on bytes of the heap's file, and the coordination file NAME-shm. It knows nothing of what is
// in heap and log; whoever uses it does the work between its steps.
//
// A seen version survives the death of processes, and power loss if its commit was durable. No step waits for a process that is dead
// or stopped, but for those that say so.
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
    std::uint64_t chain = 0;       // checksum of its record
    std::uint64_t log_end = 0;     // where in the log the next record goes
    std::uint64_t image_bytes = 0; // of the heap then
    std::uint64_t durable_through = 0;
};

/// A current superblock.
struct current_checkpoint {
    std::uint64_t sequence = 0; // of the superblock
    std::uint64_t version = 0;
    std::uint64_t log_begin = 0; // where in the log the records behind `version` begin
};

/// Which heap, for the coordination file to be its.
struct heap_identity {
    std::array<std::uint8_t, 16> uuid{};
    std::array<std::uint8_t, 16> session{};
    std::uint64_t epoch = 0;
};

/// A process, as it describes itself; a number may have been used again since.
struct participant {
    int process = 0;
    int thread = 0;
    std::chrono::system_clock::time_point since{};
    std::string program; // its first characters, as it was called when it attached
};

/// One that is attached and in a read section, or re-attaching.
struct reader {
    participant who;
    std::uint64_t version = 0;  // that it sees
    bool is_in_the_way = false; // of a checkpoint, or of the release of a checkpoint
};

using os::deadline;

/// Of one open heap. Whoever holds one needs nothing of the 65 kB behind it, which a program has if it attaches to a heap
/// (docs/decisions/footprint.md). All but attaching and detaching is for any thread, one call of each group at a time.
class coordination {
public:
    enum class role {
        first, // alone: nothing but recovery may come before become_ready()
        joined // others are attached
    };
    /// Which file systems a heap may be on: those of this machine alone, or any, for which the caller vouches.
    enum class on { local, any };
    struct attached;
    /// Takes part. `heap` is the heap's file, which must outlive this, opened for reading and writing under `path`, and not locked.
    /// As first: what was left of an earlier coordination file is void, and nobody else gets in before become_ready(). errc::in_use
    /// when the heap is open exclusively, or is open under another name, with what holds it in the message; errc::not_supported on a
    /// network file system; errc::exists when something else has the coordination file's name; errc::unsupported_format when processes
    /// of another release share it. Waits until then for one that is about to become ready, or to close: errc::in_use then, which names
    /// him, too.
    static result<attached> attach(os::file_system& files, os::file& heap, const std::string& path, unsigned mode,
                                   deadline until, on where = on::local);
    /// Takes part as a guest, who may read the heap's file and its coordination file, and nothing else: `heap` is open for reading.
    /// He reads as others do; what writes he may not call, and nobody sees him in readers(). Null: nobody shares the heap now.
    /// errc::in_use, exists, not_supported, unsupported_format: as attach().
    static result<std::unique_ptr<coordination>> attach_to_read(os::file_system& files, os::file& heap,
                                                                const std::string& path, deadline until,
                                                                on where = on::local);
    /// Of a guest: errc::closed when those that shared the heap have closed it, or died. He cannot go on then.
    virtual result<void> check_session() = 0;
    /// Removes what processes that died may have left, for who holds the heap's lock exclusively, to have it for himself. errc::exists when
    /// something else has that name.
    static result<void> remove_left_over(os::file_system& files, const std::string& path);
    coordination(const coordination&) = delete;
    coordination& operator=(const coordination&) = delete;
    /// As the death of the process. In a forked child: closes, and takes nothing from the parent.
    virtual ~coordination() = default;

    /// First: the heap is recovered, its log is there, and this is its state. Others get in from now on.
    virtual result<void> become_ready(const heap_identity& heap, const visible_commit& commit,
                                      const current_checkpoint& checkpoint) = 0;
    /// Joined: errc::in_use if the coordination file is another heap's.
    virtual result<void> check_identity(const heap_identity& heap) const = 0;

    /// Leaving. True: nobody else is attached, and nobody gets in: the coordination file is void and gone, and the heap is to be
    /// closed as an exclusive one. False: others go on with it, or the next one recovers it, if another that opens or closes it was
    /// waited for in vain. Nothing else may be called then but the destructor.
    virtual result<bool> detach(deadline until) = 0;

    // What is there to be seen.

    [[nodiscard]] virtual std::uint64_t visible() const noexcept = 0;
    [[nodiscard]] virtual visible_commit commit() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t checkpoint_sequence() const noexcept = 0;
    [[nodiscard]] virtual current_checkpoint checkpoint() const noexcept = 0;
    /// The checkpoint before which the log may be overwritten, and what was left may be reused.
    [[nodiscard]] virtual current_checkpoint released() const noexcept = 0;
    /// I5, in every process.
    [[nodiscard]] virtual bool is_poisoned() const noexcept = 0;
    virtual void poison() noexcept = 0;
    /// Returns when at least this version is visible; false at the deadline.
    virtual bool wait_for_version(std::uint64_t version, deadline until) noexcept = 0;

    // Reading: one pin for each process.

    /// The view is at `version`, and stays exactly that until unpin(). False, and nothing is pinned: a checkpoint has passed it, and the
    /// view must be brought forward first. Wait-free.
    virtual bool pin(std::uint64_t version) noexcept = 0;
    virtual void unpin() noexcept = 0;
    /// Until let_go(): the current superblock, which is returned, and the log from its begin on stay. For who re-attaches or
    /// copies records.
    virtual current_checkpoint hold() noexcept = 0;
    virtual void let_go() noexcept = 0;
    /// Where a checkpoint is declared up to; more than a pin: this reader holds it up.
    [[nodiscard]] virtual std::uint64_t apply_target() const noexcept = 0;
    /// What this process pins, if anything.
    [[nodiscard]] virtual std::optional<std::uint64_t> pinned() const noexcept = 0;
    /// The pinned version's reader has made private what the checkpoint up to `version` touches.
    virtual void raise_pin(std::uint64_t version) noexcept = 0;

    // For the thread that does so. Applies that find this process in their way call it, again and again: so it needs no time to look.

    [[nodiscard]] virtual std::uint32_t calls() const noexcept = 0;
    /// Returns when there have been others than these, or for no reason.
    virtual void wait_for_call(std::uint32_t seen) noexcept = 0;
    /// As a checkpoint does.
    virtual void call_own() noexcept = 0;

    // Writing: one process at a time.

    enum class turn {
        clean,     // the last one ended in order
        take_over, // the last one died: what it left behind the visible commit is to be looked at first
        timeout,
    };
    /// errc::poisoned. With the writer lock that a process has just had it waits a moment for those that want it, too.
    virtual result<turn> take_writer(deadline until) = 0;
    /// Before the first byte of any file is written. After take_over it is so already.
    virtual void begin_writing() noexcept = 0;
    /// The record is in the file, as durable as it says: others may see it. May be called several times.
    virtual void publish(const visible_commit& commit) noexcept = 0;
    /// Nothing that was begun is unfinished.
    virtual void end_writing() noexcept = 0;
    virtual void release_writer() noexcept = 0;
    /// Who has the writer lock, if anybody.
    [[nodiscard]] virtual std::optional<participant> writer() const = 0;
    [[nodiscard]] virtual bool others_wait_to_write() const noexcept = 0;

    // Checkpoints, and whatever else writes a superblock: one process at a time. With the writer lock, never waiting for it. A
    // superblock is written over the one before the last, which readers may hold: the last one is released first.

    /// False: another process is at it.
    virtual result<bool> try_take_checkpoint() = 0;
    /// Applies up to this visible version are going to change pages in place.
    virtual void announce_apply(std::uint64_t version) noexcept = 0;
    /// Whether no live process pins less than was declared, and the checkpoint before this one is released, which this does if its
    /// maker died before he did. Clears the pins of the dead, and calls the living that are in the way.
    [[nodiscard]] virtual bool may_apply() noexcept = 0;
    /// Its superblock is durable.
    virtual void publish_checkpoint(const current_checkpoint& checkpoint) noexcept = 0;
    /// Whether no live process holds an earlier superblock; then release() may follow.
    [[nodiscard]] virtual bool may_release() noexcept = 0;
    virtual void release() noexcept = 0;
    virtual void release_checkpoint() noexcept = 0;

    /// Who is at a checkpoint, in another process.
    [[nodiscard]] virtual std::optional<participant> checkpointer() const = 0;
    /// Those in read sections, oldest version first.
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
