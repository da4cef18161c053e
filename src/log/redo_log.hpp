// The redo log of a running heap, NAME-log: a header, followed by records.
//
// A log exists from the first commit after an open to the next clean close. Each new log begins an epoch. Only a window
// of the log counts: from the place that the durable superblock names to the newest record. A checkpoint has four
// steps. It gets a mark(), the place of the next record. It applies the records before the mark, while more may be
// appended. It publishes a superblock whose window begins at the mark. It calls release(). Only at a mark may the next
// record be placed at the log's beginning, if there is free space. Records outside of the window never chain to newer
// ones (R2).
//
// R5: records are appended in the order of the commits, by one thread at a time. Any number of threads may wait for
// them. One thread at a time uses the file: it writes, in one piece, everything appended so far, so that commits of
// several threads share one write. When a write fails, all records that are not durable yet fail with it, and nothing
// more is written (I5).
#pragma once

#include "base/page_aligned.hpp"
#include "base/result.hpp"
#include "format/log_record.hpp"
#include "log/record.hpp"
#include "os/file.hpp"
#include "os/turn.hpp"
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

/// What a caller waits for: how far its record, and all records before it, must have got.
enum class durability {
    none,    // in memory, which gathers up to k_pending_bytes_max; lost if the process dies
    lazy,    // in the page cache: survives the process
    durable, // on the device
};

/// Locks a log. A process that writes or removes a log must hold this lock: the heap's lock does not stop a process
/// that finds the log beside another heap. Processes that share a heap share the lock. errc::in_use.
result<void> lock_log(os::file& log, os::lock_kind kind = os::lock_kind::exclusive);

/// Who holds the lock of a log after the process forks. with_children: the child, too, as for an exclusive heap. alone:
/// only the process itself, so that others notice its death at once.
enum class log_lock { with_children, alone };

/// Where in a log the next record is placed, and which commit precedes it.
struct log_tail {
    std::uint64_t offset;
    std::uint64_t version;
    std::uint64_t durable_through;
};

class redo_log {
public:
    using prerequisite = std::function<result<void>()>;
    static constexpr std::uint64_t k_pending_bytes_max = 1 * MiB;

    /// Creates an empty log file of this name, and locks it. Durable, directory entry included, once this returns.
    /// `version` is that of the heap's last commit. errc::no_space; then no file remains. errc::log_foreign, and
    /// nothing changes, if a file with contents exists. errc::in_use if another process has that file open.
    static result<std::unique_ptr<redo_log>> create(os::file_system& files, const std::string& path, const uuid& heap,
                                                    const store::session_identity& session,
                                                    std::uint64_t superblock_sequence, unsigned mode,
                                                    std::uint64_t version, log_lock whose = log_lock::with_children);

    /// Opens the log of a shared heap, which another process has created. Shares its lock, unless the log is only read.
    /// follow() must be called before everything else. errc::log_missing; errc::in_use.
    static result<std::unique_ptr<redo_log>> join(os::file_system& files, const std::string& heap_path,
                                                  const std::string& path, os::access how = os::access::read_write);
    /// Shares the exclusive lock of a log that create() made with log_lock::alone.
    result<void> share();
    /// Adopts what other processes have written: the window begins at `begin` and ends at `end`. Precondition:
    /// everything that this process appended is written.
    result<void> follow(std::uint64_t begin, const log_tail& end);

    // For one thread at a time, the one that commits (up to restart()).

    /// Returns where the next record will be placed.
    [[nodiscard]] std::uint64_t end() const { return end_; }

    /// True if a record of this size fits before the window's beginning. Can be false only while the window is in two
    /// parts; then release() or restart() makes room.
    [[nodiscard]] bool has_room(std::uint64_t record_bytes) const;
    /// Reserves room for a record of this size behind the last one. errc::no_space; then the log is unchanged.
    /// Precondition: has_room().
    result<void> reserve(std::uint64_t record_bytes);
    /// Reserves about this many bytes on the disk for a record whose size is not known yet. A later reserve() of at
    /// most that many bytes uses them. errc::no_space; then the log is unchanged.
    result<void> reserve_early(std::uint64_t bytes);
    /// Returns the memory of a record that was written, for reuse; empty if there is none.
    [[nodiscard]] page_aligned_bytes take_memory();
    /// Appends a finished record of the next version to the records in memory; writes nothing yet. Precondition:
    /// reserve(). If this throws std::bad_alloc, the record is not appended. `first` must make durable what the record
    /// names (I2). The thread that writes the record calls it before that, once for all records that are written
    /// together. If `first` fails, the write counts as failed.
    void append(page_aligned_bytes record, prerequisite first = {});
    /// Makes everything appended durable. Returns the place in the file of the next record: behind the last one, or at
    /// the log's beginning if the free space there is at least as long as the window. This is the log_begin for a
    /// superblock that covers everything appended. A mark that is never released does no harm. Fails as await() does.
    result<std::uint64_t> mark();
    /// Places the next record at k_log_header_bytes, and makes earlier marks invalid. Precondition: a superblock that
    /// covers every record and whose log_begin is k_log_header_bytes is durable.
    void restart();

    // Thread-safe functions.

    /// Allows the records before `mark` to be overwritten. Precondition: a superblock with this mark is durable, and
    /// the mark is the last one, or was taken after the one released last.
    void release(std::uint64_t mark);
    /// Returns the length of the window: of all records that the durable superblock does not cover, including those not
    /// written yet.
    [[nodiscard]] std::uint64_t used_bytes() const;
    /// Waits until the record of this version and all before it are as durable as `how` asks. Precondition: the record
    /// was appended. Returns the error of a failed write or sync. That error is final (I5): every call for a record
    /// that was not durable before returns it, now and later. A std::bad_alloc is final, too.
    result<void> await(std::uint64_t version, durability how);
    [[nodiscard]] std::uint64_t appended_through() const;
    /// Returns the last version whose record is in the file, perhaps only in the page cache.
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
    static constexpr std::size_t k_unused_bytes_max = 256 * KiB; // more is freed; new memory causes page faults
    bool is_durable_after_turn(unique_lock& lock, std::uint64_t version);
    void leave_file(unique_lock& lock);
    void wake(unique_lock& lock);
    template <class F>
    result<void> at_file(unique_lock& lock, F&& use);
    result<void> fail_again() const;
    result<void> write_pending(unique_lock& lock, durability how);
    result<void> write(std::uint64_t at, std::span<const std::byte> records, durability how, bool syncs_all);

    [[nodiscard]] bool is_in_two_parts() const { return end_ < begin_; } // the far part ends at far_end_

    /// The thread that uses the file writes to it. The thread that commits writes only zeros, behind all records.
    std::unique_ptr<os::file> file_;
    std::unique_ptr<os::byte_locks> lock_; // with log_lock::alone; otherwise file_ holds the lock
    std::uint64_t size_;                   // length of the file; used by the thread that commits
    /// Place of the next record. Written by the thread that commits, under mutex_.
    std::uint64_t end_ = format::k_log_header_bytes;
    mutable std::mutex mutex_;                         // guards the members below
    std::uint64_t begin_ = format::k_log_header_bytes; // where the window begins
    std::uint64_t far_end_ = 0;
    page_aligned_bytes unused_;          // memory of records that were written
    page_aligned_bytes pending_;         // the last records, up to end_, which are not being written
    prerequisite pending_first_;         // of the pending records
    bool needs_sync_ = false;            // records or zeros may be in the page cache only
    std::uint64_t appended_;             // last version appended
    std::uint64_t written_;              // last version in the file, perhaps only in the page cache
    std::atomic<std::uint64_t> durable_; // last version on the device; changed under mutex_
    std::uint64_t taken_;                // last version whose write has begun
    std::uint32_t writes_ = 0;           // number of writes begun
    bool busy_ = false;                  // a thread uses the file
    std::optional<failure> failed_;
    bool lacked_memory_ = false; // final, like failed_: memory ran out, even for the message
    bool was_abandoned_ = false; // final, like failed_: a thread ended while it used the file
    /// A thread whose record is in the nth write waits on element n modulo 2. A thread that is done with the file
    /// changes both elements. It wakes all threads that waited for its write, and one of the threads that wait for the
    /// next write; that thread does the next write. These are not condition variables, since a forked child must be
    /// able to destroy its copy while threads of the parent wait.
    std::array<os::turn, 2> turns_;
};

} // namespace remanence::log
