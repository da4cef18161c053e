// The redo log of a running heap, NAME-log: a header, then records one after the other.
//
// A log lives from the first commit after an open to the next clean close. An epoch begins with it. Only a window of
// the log counts: from the place that the durable superblock names to the newest record. A checkpoint works in four
// steps. It takes a mark(), the place of the next record. It applies the records before the mark, while more may be
// appended. It publishes a superblock whose window begins at the mark. It calls release(). Only at a mark may the next
// record go to the log's beginning, if that is free. Records left behind never chain to newer ones (R2).
//
// R5: records are appended in the order of the commits, by one thread at a time. All threads may wait for them. One
// thread at a time is at the file: it writes, in one piece, everything appended until then, so that commits of several
// threads share one write. When a write fails, all records that were not durable before fail with it, and nothing more
// is written (I5).
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

/// How far a record, and all before it, must get.
enum class durability {
    none,    // into memory, where up to k_pending_bytes_max are gathered. Lost if the process dies
    lazy,    // into the page cache: survives the process
    durable, // onto the device
};

/// Locks a log. A process that writes or removes a log holds this lock: the heap's lock does not stop a process that
/// finds the log beside another heap. Processes that share a heap share it. errc::in_use.
result<void> lock_log(os::file& log, os::lock_kind kind = os::lock_kind::exclusive);

/// Who holds the lock of a log when the process forks. with_children: the child, too, as for an exclusive heap. alone:
/// only the process, so that its death is noticed at once.
enum class log_lock { with_children, alone };

/// Where in a log the next record goes, and which commit it follows.
struct log_tail {
    std::uint64_t offset;
    std::uint64_t version;
    std::uint64_t durable_through;
};

class redo_log {
public:
    using prerequisite = std::function<result<void>()>;
    static constexpr std::uint64_t k_pending_bytes_max = 1 * MiB;

    /// Makes an empty log file of this name, and locks it. Durable, directory entry included, once this returns.
    /// `version`: of the heap's last commit. errc::no_space leaves nothing behind. errc::log_foreign, and nothing
    /// changes, if there is a file with contents. errc::in_use if another process has that file open.
    static result<std::unique_ptr<redo_log>> create(os::file_system& files, const std::string& path, const uuid& heap,
                                                    const store::session_identity& session,
                                                    std::uint64_t superblock_sequence, unsigned mode,
                                                    std::uint64_t version, log_lock whose = log_lock::with_children);

    /// Opens the log of a shared heap, which another process has made. Shares its lock, unless the log is only read.
    /// Call follow() before everything else. errc::log_missing; errc::in_use.
    static result<std::unique_ptr<redo_log>> join(os::file_system& files, const std::string& heap_path,
                                                  const std::string& path, os::access how = os::access::read_write);
    /// Shares the lock of a log that create() made with log_lock::alone.
    result<void> share();
    /// Notes that other processes may have written: the window begins at `begin`, and ends at `end`. Precondition:
    /// everything appended here is written.
    result<void> follow(std::uint64_t begin, const log_tail& end);

    // Functions for one thread at a time, the one that makes commits (up to restart()).

    /// Returns where the next record goes.
    [[nodiscard]] std::uint64_t end() const { return end_; }

    /// True if a record of this size fits before the window's begin. Always true, unless the window is in two parts.
    /// Then release() or restart() makes room.
    [[nodiscard]] bool has_room(std::uint64_t record_bytes) const;
    /// Reserves room for a record of this size behind the last one. errc::no_space; then nothing visible has changed.
    /// Precondition: has_room().
    result<void> reserve(std::uint64_t record_bytes);
    /// Reserves about so many bytes on the disk for a record whose size is not known yet. Call reserve() afterwards: it
    /// finds room for that many bytes or fewer. errc::no_space; then nothing visible has changed.
    result<void> reserve_early(std::uint64_t bytes);
    /// Returns memory of a record that was written, for the next one; or none.
    [[nodiscard]] page_aligned_bytes take_memory();
    /// Takes a finished record of the next version; writes nothing yet. Precondition: reserve(). On std::bad_alloc the
    /// record is not taken. `first` makes durable what the record names (I2). The thread that writes the record calls
    /// it before, once for all records that are written together. If it fails, the write counts as failed.
    void append(page_aligned_bytes record, prerequisite first = {});
    /// Makes everything appended durable. Returns the place in the file where the next record will go: behind the last
    /// one, or at the log's beginning if at least as much as the window has is free there. A superblock that covers
    /// everything appended takes it as its log_begin. A mark that is not released has no cost. Fails as await() does.
    result<std::uint64_t> mark();
    /// Call it when a superblock is durable that covers every record and whose log_begin is k_log_header_bytes. The
    /// next record goes there. Earlier marks become invalid. Precondition: all records are durable.
    void restart();

    // Thread-safe functions.

    /// Call it when a superblock with this mark is durable. The mark is the last one, or one after the last released.
    /// The records before it may then be overwritten.
    void release(std::uint64_t mark);
    /// Returns the bytes of the window: of all records that the durable superblock does not cover, including those not
    /// written yet.
    [[nodiscard]] std::uint64_t used_bytes() const;
    /// Waits until the record of this version, which was appended, and all before it have got so far. Returns the error
    /// of a failed write or sync. It is final (I5): every call for a record that was not durable before gets it, now
    /// and later. So is std::bad_alloc.
    result<void> await(std::uint64_t version, durability how);
    [[nodiscard]] std::uint64_t appended_through() const;
    /// Returns the last version that reached the file, perhaps only the page cache.
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
    static constexpr std::size_t k_unused_bytes_max = 256 * KiB; // kept up to this; fresh memory costs page faults
    void wait_for_turn(unique_lock& lock, std::uint64_t version);
    void leave_file(unique_lock& lock);
    void wake(unique_lock& lock);
    template <class F>
    result<void> at_file(unique_lock& lock, F&& use);
    result<void> fail_again() const;
    result<void> write_pending(unique_lock& lock, durability how);
    result<void> write(std::uint64_t at, std::span<const std::byte> records, durability how, bool syncs_all);

    [[nodiscard]] bool is_in_two_parts() const { return end_ < begin_; } // the far part ends at far_end_

    /// Written to by the thread that is at it. The thread that makes commits writes behind all records.
    std::unique_ptr<os::file> file_;
    std::unique_ptr<os::byte_locks> lock_;           // with log_lock::alone; otherwise file_ has it
    std::uint64_t size_;                             // of the file; used by the thread that makes commits
    std::uint64_t end_ = format::k_log_header_bytes; // where the next record goes; written by that thread under mutex_
    mutable std::mutex mutex_;                       // guards the members below
    std::uint64_t begin_ = format::k_log_header_bytes; // begin of the window
    std::uint64_t far_end_ = 0;
    page_aligned_bytes unused_;  // memory of records that were written
    page_aligned_bytes pending_; // the last records, up to end_, which no thread has begun to write
    prerequisite pending_first_; // of the pending records
    bool needs_sync_ = false;    // records or zeros may be in the page cache only
    std::uint64_t appended_;     // appended_, written_, durable_: versions
    std::uint64_t written_;
    std::uint64_t durable_;
    std::uint64_t taken_;      // last version that a thread has begun to write
    std::uint32_t writes_ = 0; // how many were begun
    bool busy_ = false;        // a thread is at the file
    std::optional<failure> failed_;
    bool lacked_memory_ = false; // final, too: not even the reason could be kept
    bool was_abandoned_ = false; // final, too: a thread ended while it was at the file
    /// A thread whose record is in the nth write waits on element n modulo 2. Both change when a thread leaves the
    /// file. Then all threads that waited for its write are woken, and one of those that wait for the next write, to
    /// begin it. These are not condition variables, since a forked child must be able to destroy its copy while threads
    /// of the parent wait.
    std::array<std::atomic<std::uint32_t>, 2> turns_{};
};

} // namespace remanence::log
