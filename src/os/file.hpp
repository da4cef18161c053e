// Files and directories as the layers above see them. Every durable byte passes through here, so a simulated disk
// (testing/simulated_disk.hpp) with the same interface records a complete trace.
//
// Each write and sync carries the name of its call site: traces, phase histograms and fault injection use it.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "os/byte_locks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace remanence::os {

enum class access { read_only, read_write };

/// The name of a call site, for traces: a string literal such as "log: record". A call without a name does not compile,
/// so the tests that omit one write or sync at a time find all of them.
class call_site {
public:
    consteval call_site(const char* name) : name_(name) { // NOLINT(google-explicit-constructor)
        if (name == nullptr || *name == '\0')
            throw "a call site needs a name";
    }
    [[nodiscard]] constexpr const char* name() const { return name_; }
    constexpr operator std::string_view() const { return name_; } // NOLINT(google-explicit-constructor)

private:
    const char* name_;
};

enum class unpunchable { is_zeroed, stays };

/// The current name of an open file.
struct present_name {
    bool exists = true; // false: the file has no name any more, so nobody can open it
    std::string path{}; // empty: the file has a name, but the system does not tell it
};

/// Identifies a file independently of its names.
struct file_identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    // The kind of file system, if other machines may change its files or a program implements it; otherwise empty.
    std::string reached_by{};
};

/// An open file. Thread-safe only as far as pread() and pwrite() are by POSIX.
class file {
public:
    file() = default;
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    virtual ~file() = default;

    /// Fills `into` from `offset` on. errc::truncated if the file ends earlier.
    virtual result<void> read(std::uint64_t offset, std::span<std::byte> into) = 0;
    /// Starts to read this range into the page cache, so that a later read() takes less time. A hint; does not wait.
    virtual void will_read(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
    /// Writes everything through the page cache. Not durable before sync().
    virtual result<void> write(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// As write(), but directly from memory to the device if the file system supports it (O_DIRECT). Offset, address
    /// and length must be multiples of 4 KiB. Not durable before sync() either, since the device may have it in its
    /// cache only.
    virtual result<void> write_direct(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// As write_direct(), but these bytes, and the file size that they require, are durable once this returns. Nothing
    /// else is, not even an earlier write of the same bytes (O_DIRECT with O_DSYNC). If the file system does not
    /// support that, calls write() and sync(). Offset and length must be multiples of 512 bytes, the address a multiple
    /// of 4 KiB. A failure has the same meaning as one of sync().
    virtual result<void> write_durable(call_site where, call_site durable, std::uint64_t offset,
                                       std::span<const std::byte> bytes) = 0;
    /// Makes all earlier writes to this file, and its size, durable (fdatasync). After a failure the state of the
    /// written pages is unknown: never retry (I5).
    virtual result<void> sync(call_site where) = 0;

    /// Starts to write earlier writes in this range to the disk, so that a later sync() takes less time. A hint; does
    /// not wait.
    virtual void begin_sync(std::uint64_t offset, std::uint64_t bytes) = 0;

    virtual result<std::uint64_t> size() = 0;
    virtual result<void> resize(call_site where, std::uint64_t bytes) = 0;
    /// Reserves space for [offset, offset+bytes), and extends the file if necessary. Its contents are unchanged; new
    /// bytes are zero. errc::no_space if the disk or quota is full; then size and contents are unchanged.
    virtual result<void> reserve(call_site where, std::uint64_t offset, std::uint64_t bytes) = 0;
    /// Returns the space of the range to the file system; the range then reads as zeros. If the file system does not
    /// support that, writes zeros or leaves the range as it is, as `otherwise` says.
    virtual result<void> punch(call_site where, std::uint64_t offset, std::uint64_t bytes,
                               unpunchable otherwise = unpunchable::is_zeroed) = 0;

    /// True if reading a hole through a mapping allocates space (tmpfs). If there is no space, the process then gets
    /// SIGBUS.
    [[nodiscard]] virtual bool fills_holes_when_read() { return false; }
    /// True if the range contains no data or lies behind the end of the file, so that it reads as zeros. False if the
    /// file system cannot tell.
    virtual result<bool> is_hole(file_range /*range*/) { return false; }

    /// Acquires the lock of the whole file (open file description lock). Returns false if another process or opening
    /// holds a conflicting one. The lock is released by the destructor, or when the process and all children that it
    /// has forked meanwhile have ended.
    virtual result<bool> try_lock(lock_kind kind) = 0;
    /// True if another process or opening holds the exclusive lock. Acquires no lock, so it excludes nobody.
    virtual result<bool> is_locked_exclusively() = 0;

    /// Maps [offset, offset+bytes) privately (copy-on-write) at `where`, over addresses that the caller has reserved.
    /// All three must be multiples of the page size. The mapping may outlive the file object.
    virtual result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) = 0;

    /// Opens this file again, for locks on its bytes.
    virtual result<std::unique_ptr<byte_locks>> open_locks() = 0;
    /// Maps the first bytes as shared memory; the file must be long enough. With access::read_only the memory must not
    /// be written to. The mapping is excluded from core files, and does not exist in forked children. It may outlive
    /// the file object; it ends with the returned pointer.
    virtual result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, access protection) = 0;
    virtual result<file_identity> identity() = 0;

    /// Returns the file's permission bits.
    virtual result<unsigned> permissions() = 0;
    /// True if `path` names this file itself, and not a symbolic link to it.
    virtual result<bool> is_at(const std::string& path) = 0;
    /// Returns the current name of this file, which may have been renamed or removed since it was opened; returns
    /// path() if that is still a name of it.
    virtual result<present_name> find_name() = 0;
    /// Returns the path by which the file was opened.
    [[nodiscard]] virtual const std::string& path() const = 0;
};

/// The directory operations that heaps need.
class file_system {
public:
    file_system() = default;
    file_system(const file_system&) = delete;
    file_system& operator=(const file_system&) = delete;
    virtual ~file_system() = default;

    /// Opens an existing file. errc::not_found if it does not exist; errc::not_a_heap, without waiting, if it is not a
    /// regular file.
    virtual result<std::unique_ptr<file>> open(const std::string& path, access mode) = 0;
    /// Opens a file for reading and writing. If it does not exist, creates an empty one with permission bits `mode`
    /// (less the umask). Does not follow a symbolic link.
    virtual result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) = 0;
    virtual result<bool> exists(const std::string& path) = 0;
    /// True if the directory exists. A file system without directories always returns true.
    virtual result<bool> has_directory(const std::string& path) = 0;
    /// Renames atomically. If `to` exists, fails with errc::exists and changes nothing.
    virtual result<void> rename_to_new(call_site where, const std::string& from, const std::string& to) = 0;
    /// Renames atomically, replacing a file that exists at `to`.
    virtual result<void> rename_over(call_site where, const std::string& from, const std::string& to) = 0;
    /// Removes this name of `which`. Does nothing if the name does not exist or names another file. No system call
    /// compares and removes in one step, so a file that gets this name in between is removed.
    virtual result<void> remove(call_site where, const std::string& path, file& which) = 0;
    /// Makes creations, renames and removals in the directory of `path` durable.
    virtual result<void> sync_directory(call_site where, const std::string& path) = 0;
};

/// Returns the real file system. Stateless; never destroyed.
file_system& posix_file_system();

} // namespace remanence::os
