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
/// so that no write or sync escapes the tests that leave out one at a time.
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

/// The present name of an open file.
struct present_name {
    bool exists = true; // false: no name is left, so nobody can open it any more
    std::string path{}; // empty: it has a name, but the system does not tell which
};

/// Identifies a file, whatever its names.
struct file_identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    // The kind of file system, if other machines or a program may change its files; otherwise empty.
    std::string reached_by{};
};

/// An open file. Thread-safe only as far as POSIX makes pread and pwrite so.
class file {
public:
    file() = default;
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    virtual ~file() = default;

    /// Fills `into` from `offset` on. errc::truncated if the file ends earlier.
    virtual result<void> read(std::uint64_t offset, std::span<std::byte> into) = 0;
    /// Writes everything through the page cache. Not durable before sync().
    virtual result<void> write(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// As write(), but directly from memory to the device where the file system supports it (O_DIRECT). Offset, address
    /// and length must be multiples of 4 KiB. Not durable before sync() either: the device may keep it in its cache.
    virtual result<void> write_direct(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// As write_direct(), but these bytes, and the file size that they need, are durable once it returns. Nothing else
    /// is, not even an earlier write of the same bytes (O_DIRECT with O_DSYNC). Where the file system does not support
    /// that, does write() and sync(). Offset and length must be multiples of 512 bytes, the address one of 4 KiB. A
    /// failure means the same as one of sync().
    virtual result<void> write_durable(call_site where, call_site durable, std::uint64_t offset,
                                       std::span<const std::byte> bytes) = 0;
    /// Makes all earlier writes to this file, and its size, durable (fdatasync). After a failure the state of the
    /// written pages is unknown: never retry (I5).
    virtual result<void> sync(call_site where) = 0;

    /// Starts writing earlier writes in this range to the disk, so that a later sync() has less to do. A hint; does not
    /// wait.
    virtual void begin_sync(std::uint64_t offset, std::uint64_t bytes) = 0;

    virtual result<std::uint64_t> size() = 0;
    virtual result<void> resize(call_site where, std::uint64_t bytes) = 0;
    /// Reserves space for [offset, offset+bytes), and extends the file if needed. Contents stay; new bytes are zero.
    /// errc::no_space if the disk or quota is full; then nothing visible has changed.
    virtual result<void> reserve(call_site where, std::uint64_t offset, std::uint64_t bytes) = 0;
    /// Gives the range's space back; it then reads as zeros. Where the file system does not support that, writes zeros
    /// or leaves the range as it is.
    virtual result<void> punch(call_site where, std::uint64_t offset, std::uint64_t bytes,
                               unpunchable otherwise = unpunchable::is_zeroed) = 0;

    /// True if reading a hole through a mapping allocates space (tmpfs). If the disk is full then, the process gets
    /// SIGBUS.
    [[nodiscard]] virtual bool fills_holes_when_read() { return false; }
    /// True if the range has no data, or lies behind the end of the file, so that it reads as zeros. False if the file
    /// system cannot tell.
    virtual result<bool> is_hole(file_range /*range*/) { return false; }

    /// Takes the whole-file lock (open file description lock). Returns false if another process or opening has it. The
    /// destructor releases it. So does the death of the process and of the children that it has forked meanwhile.
    virtual result<bool> try_lock(lock_kind kind) = 0;
    /// True if another process or opening has the exclusive lock. Takes no lock, so it keeps nobody from it.
    virtual result<bool> is_locked_exclusively() = 0;

    /// Maps [offset, offset+bytes) privately (copy-on-write) at `where`, over addresses that the caller has reserved.
    /// All are multiples of the page size. The mapping may outlive the file object.
    virtual result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) = 0;

    /// Opens this file once more, for locks on its bytes.
    virtual result<std::unique_ptr<byte_locks>> open_locks() = 0;
    /// Maps the first bytes as shared memory; the file must be long enough. With access::read_only it must not be
    /// written. It is left out of core files, and absent in forked children. It may outlive the file object; its owner
    /// unmaps it.
    virtual result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, access protection) = 0;
    virtual result<file_identity> identity() = 0;

    /// Returns its permission bits.
    virtual result<unsigned> permissions() = 0;
    /// True if `path` itself names this file, not through a symbolic link.
    virtual result<bool> is_at(const std::string& path) = 0;
    /// Returns the present name of this file, which may have been renamed or removed since it was opened; path() if
    /// that is one.
    virtual result<present_name> find_name() = 0;
    /// Returns the path by which it was opened.
    [[nodiscard]] virtual const std::string& path() const = 0;
};

/// The directory operations that heaps need.
class file_system {
public:
    file_system() = default;
    file_system(const file_system&) = delete;
    file_system& operator=(const file_system&) = delete;
    virtual ~file_system() = default;

    /// Opens an existing file. errc::not_found if there is none; errc::not_a_heap, without waiting, if it is not a
    /// regular file.
    virtual result<std::unique_ptr<file>> open(const std::string& path, access mode) = 0;
    /// Opens for reading and writing. Creates an empty file with permission bits `mode` (less the umask) if there is
    /// none. Does not follow a symbolic link.
    virtual result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) = 0;
    virtual result<bool> exists(const std::string& path) = 0;
    /// True if the directory exists. A system without directories always returns true.
    virtual result<bool> has_directory(const std::string& path) = 0;
    /// Renames atomically. errc::exists, and nothing changes, if `to` exists.
    virtual result<void> rename_to_new(call_site where, const std::string& from, const std::string& to) = 0;
    /// Renames atomically, and replaces a file at `to`.
    virtual result<void> rename_over(call_site where, const std::string& from, const std::string& to) = 0;
    /// Removes this name of `which`. Does nothing if the name is absent or belongs to another file. No system call
    /// compares and removes in one step: a file that gets this name in between is removed.
    virtual result<void> remove(call_site where, const std::string& path, file& which) = 0;
    /// Makes creations, renames and removals in the directory of `path` durable.
    virtual result<void> sync_directory(call_site where, const std::string& path) = 0;
};

/// Returns the real file system. Stateless; lives as long as the program.
file_system& posix_file_system();

} // namespace remanence::os
