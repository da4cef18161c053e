// The redo log of a running heap: NAME-log, a header and then records one after the other.
//
// A log lives from the first commit after an open to the next clean close; with it begins an epoch. What counts in it is
// a window, from where the durable superblock says to the newest record. A checkpoint takes a mark(), where the next
// record will go, applies what lies before it, while more may be appended, publishes a superblock that says that the window
// begins there, and says so by release(). At a mark, and nowhere else, the next record may go to the log's beginning, if
// that is free; records left behind anywhere never chain to newer ones (R2).
//
// R5: records are appended in the order of the commits, by one thread at a time, and then waited for by all. One thread at
// a time is at the file: it writes, in one piece, what was appended until then, and so the commits of several threads
// share one write. When a write fails, all that were not durable before fail with it, and nothing is written any more (I5).
#pragma once

#include "base/page_aligned.hpp"
#include "base/result.hpp"
#include "format/log_record.hpp"
#include "log/record.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace remanence::log {

/// How far a record is to get, with all before it.
enum class durability {
    none,    // into memory, where up to k_pending_bytes_max wait for company: lost with the process
    lazy,    // into the page cache: survives the process
    durable, // onto the device
};

/// Whoever writes a log, or removes it, holds its lock: its heap's does not keep those out who find the log beside another
/// one. Processes that share a heap share it. errc::in_use.
result<void> lock_log(os::file& log, os::lock_kind kind = os::lock_kind::exclusive);

/// Whose the lock of a log is when the process forks: the child's too, as that of an exclusive heap, or the process's alone, so that
/// its death is seen at once.
enum class log_lock { with_children, alone };

/// Where in a log the next record goes, and behind which commit.
struct log_tail {
    std::uint64_t offset;
    std::uint64_t version;
    std::uint64_t durable_through;
};

class redo_log {
public:
    using prerequisite = std::function<result<void>()>;
    static constexpr std::uint64_t k_pending_bytes_max = 1 * MiB;

    /// Makes an empty log file of this name, and locks it; durable, directory entry included, once this returns.
    /// `version`: of the heap's last commit. errc::no_space leaves nothing behind; errc::log_foreign, and nothing changed,
    /// when there is a file with anything in it; errc::in_use when somebody has that one open.
    static result<std::unique_ptr<redo_log>> create(os::file_system& files, const std::string& path, const uuid& heap,
                                                    const store::session_identity& session,
                                                    std::uint64_t superblock_sequence, unsigned mode,
                                                    std::uint64_t version, log_lock whose = log_lock::with_children);

    /// Opens the log of a shared heap, which another process has made, and shares its lock, unless it is to be read only.
    /// follow() comes before all else. errc::log_missing; errc::in_use.
    static result<std::unique_ptr<redo_log>> join(os::file_system& files, const std::string& heap_path,
                                                  const std::string& path, os::access how = os::access::read_write);
    /// Made by create() with log_lock::alone, it is not this process's alone any more.
    result<void> share();
    /// Other processes have written, or may have: the window begins at `begin`, and ends here. Precondition: everything that was
    /// appended here is written.
    result<void> follow(std::uint64_t begin, const log_tail& end);

    // From here to restart(): one thread at a time, the one that makes commits.

    /// Where the next record goes.
    [[nodiscard]] std::uint64_t end() const { return end_; }

    /// Whether a record of this size fits before the window's begin; always, unless the window is in two parts. Then
    /// release() makes room, or restart().
    [[nodiscard]] bool has_room(std::uint64_t record_bytes) const;
    /// Room for a record of this size behind the last one. errc::no_space; nothing visible has changed then.
    /// Precondition: has_room().
    result<void> reserve(std::uint64_t record_bytes);
    /// Takes room on the disk for about so many bytes of a record whose size is not known yet: reserve() is to follow, and finds room
    /// for that many, or fewer. errc::no_space; nothing visible has changed then.
    result<void> reserve_early(std::uint64_t bytes);
    /// Memory of a record that was written, for the next one; or none.
    [[nodiscard]] page_aligned_bytes take_memory();
    /// Takes a finished record, of the next version; nothing is written yet. Precondition: reserved. std::bad_alloc: it is
    /// not taken. `first` makes durable what the record names (I2): whoever writes it calls that before, on any thread, and
    /// once for all records that get written together. When it fails, that is as if the write had failed.
    void append(page_aligned_bytes record, prerequisite first = {});
    /// Makes everything appended durable, and returns the place in the file where the next record will go: behind the
    /// last one, or at the log's beginning, when at least as much as the window has is free there. For a superblock that
    /// covers everything appended, as its log_begin. A mark that is not released costs nothing. Fails as await() does.
    result<std::uint64_t> mark();
    /// A superblock that covers every record, and whose log_begin is k_log_header_bytes, is durable: the next record goes
    /// there. Marks made before count no more. Precondition: all records are durable.
    void restart();

    // From any thread.

    /// A superblock with this mark, the last one or one after the last released, is durable: what lies before it in the
    /// window may be overwritten.
    void release(std::uint64_t mark);
    /// Bytes of the window: of the records that the durable superblock does not cover, those that are not written yet
    /// among them.
    [[nodiscard]] std::uint64_t used_bytes() const;
    /// Returns when the record of this version, which was appended, and all before it have got so far. A failure is that of
    /// a write or sync, and final (I5): whoever waits for what was not durable before gets it, now and later.
    /// std::bad_alloc likewise.
    result<void> await(std::uint64_t version, durability how);
    [[nodiscard]] std::uint64_t appended_through() const;
    /// The last version that reached the file, perhaps only in the page cache.
    [[nodiscard]] std::uint64_t written_through() const;
    [[nodiscard]] std::uint64_t durable_through() const;
    [[nodiscard]] os::file& file() { return *file_; }

private:
    redo_log(std::unique_ptr<os::file> file, std::unique_ptr<os::byte_locks> lock, std::uint64_t size,
             std::uint64_t version)
        : file_(std::move(file)),
          lock_(std::move(lock)),
          size_(size),
          appended_(version),
          written_(version),
          durable_(version),
          taken_(version) {}

    using unique_lock = std::unique_lock<std::mutex>;
    static constexpr std::size_t k_unused_bytes_max = 256 * KiB; // so much is kept, and fresh memory costs page faults
    void wait_for_turn(unique_lock& lock, std::uint64_t version);
    void leave_file(unique_lock& lock);
    void wake(unique_lock& lock);
    template <class F>
    result<void> at_file(unique_lock& lock, F&& use);
    result<void> fail_again() const;
    result<void> write_pending(unique_lock& lock, durability how);
    result<void> write(std::uint64_t at, std::span<const std::byte> records, durability how, bool syncs_all);

    [[nodiscard]] bool is_in_two_parts() const { return end_ < begin_; } // the far one lies up to far_end_

    /// Written to by the thread that is at it; behind all records, by the one that makes commits.
    std::unique_ptr<os::file> file_;
    std::unique_ptr<os::byte_locks> lock_;           // with log_lock::alone; else file_ has it
    std::uint64_t size_;                             // of the file; of the thread that makes commits
    std::uint64_t end_ = format::k_log_header_bytes; // where the next record goes; of that thread, and guarded likewise
    mutable std::mutex mutex_;                       // guards what follows
    std::uint64_t begin_ = format::k_log_header_bytes; // of the window
    std::uint64_t far_end_ = 0;
    page_aligned_bytes unused_;  // memory of records that were written
    page_aligned_bytes pending_; // the last records, up to end_, which nobody has begun to write
    prerequisite pending_first_; // theirs
    bool needs_sync_ = false;    // records or zeros that only the page cache may have
    std::uint64_t appended_;     // versions
    std::uint64_t written_;
    std::uint64_t durable_;
    std::uint64_t taken_;      // the last version that a thread has begun to write
    std::uint32_t writes_ = 0; // that were begun
    bool busy_ = false;        // a thread is at the file
    std::optional<failure> failed_;
    bool lacked_memory_ = false; // likewise, when not even the reason could be kept
    bool was_abandoned_ = false; // likewise, by a thread that ended while it was at the file
    /// Those wait at the nth, modulo 2, whose records the nth write has; they change when a thread leaves the file. Then all are
    /// woken that waited for its write, and one of those that wait for the next, to begin it. Not condition variables, since a forked
    /// child must be able to destroy its copy while threads of the parent wait.
    std::array<std::atomic<std::uint32_t>, 2> turns_{};
};

} // namespace remanence::log
