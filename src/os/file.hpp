// Files and directories as the layers above see them. Every durable byte passes through here, so a simulated disk
// (testing/simulated_disk.hpp) behind the same interface records a complete trace.
//
// Each write and sync carries the name of its call site: traces, phase histograms and fault injection refer to it.
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

/// Name of a call site, for traces: a string literal such as "log: record". Without a name it does not compile, so that
/// no write and no sync escapes the tests that leave one out at a time.
class call_site {
public:
    consteval call_site(const char* name) : name_(name) { // NOLINT(google-explicit-constructor)
        if (name == nullptr || *name == '\0')
            throw "a call call_site needs a name";
    }
    [[nodiscard]] constexpr const char* name() const { return name_; }
    constexpr operator std::string_view() const { return name_; } // NOLINT(google-explicit-constructor)

private:
    const char* name_;
};

enum class unpunchable { is_zeroed, stays };

/// What an open file is called now.
struct present_name {
    bool exists = true; // false: none of its names is left, so that nobody can open it any more
    std::string path{}; // empty: it has a name, but the system does not tell which
};

/// Which file it is, whatever its names.
struct file_identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::string
        reached_by{}; // the kind of file system, when other machines, or a program, may have a hand in it; else empty
};

/// An open file. Not thread-safe beyond what POSIX gives to pread and pwrite.
class file {
public:
    file() = default;
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    virtual ~file() = default;

    /// Fills `into` from `offset`; a file that ends earlier is errc::truncated.
    virtual result<void> read(std::uint64_t offset, std::span<std::byte> into) = 0;
    /// Writes everything through the page cache. Not durable before sync().
    virtual result<void> write(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// As write(), but straight from memory to the device where the file system can (O_DIRECT). Offset, address and
    /// length must be multiples of 4 KiB. Not durable before sync() either: the device may hold it in its cache.
    virtual result<void> write_direct(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// As write_direct(), and these bytes are durable once it returns, with the size that they need; nothing else is, no
    /// earlier write of the same bytes either (O_DIRECT with O_DSYNC). Where the file system cannot do that, it is a
    /// write() and a sync(). Offset and length must be multiples of 512 bytes, the address one of 4 KiB. A failure is like
    /// one of sync().
    virtual result<void> write_durable(call_site where, call_site durable, std::uint64_t offset,
                                       std::span<const std::byte> bytes) = 0;
    /// Makes all earlier writes to this file, and its size, durable (fdatasync). After a failure the state of the
    /// written pages is unknown: never retry (I5).
    virtual result<void> sync(call_site where) = 0;

    /// Earlier writes to this range begin to go to the disk, so that a later sync() finds less to do. A hint; nothing waits.
    virtual void begin_sync(std::uint64_t offset, std::uint64_t bytes) = 0;

    virtual result<std::uint64_t> size() = 0;
    virtual result<void> resize(call_site where, std::uint64_t bytes) = 0;
    /// Guarantees space for [offset, offset+bytes), extending the size where needed; contents stay, new bytes are zero.
    /// errc::no_space when the disk or quota is full; then nothing visible has changed.
    virtual result<void> reserve(call_site where, std::uint64_t offset, std::uint64_t bytes) = 0;
    /// Gives the range's space back; it reads as zeros then. Where the file system cannot do that, it is written with zeros,
    /// or stays as it is.
    virtual result<void> punch(call_site where, std::uint64_t offset, std::uint64_t bytes,
                               unpunchable otherwise = unpunchable::is_zeroed) = 0;

    /// Whether reading a hole, through a mapping, takes room on the disk (tmpfs): when that is full, the process gets SIGBUS.
    [[nodiscard]] virtual bool fills_holes_when_read() { return false; }
    /// Whether there is nothing in the range, or behind the end of the file, so that it reads as zeros. False where the file
    /// system cannot tell.
    virtual result<bool> is_hole(file_range /*range*/) { return false; }

    /// Takes the whole-file lock (open file description lock); false when somebody else holds it. Released by the
    /// destructor, and by the death of the process and of the children that it forked meanwhile.
    virtual result<bool> try_lock(lock_kind kind) = 0;
    /// Whether somebody else holds the exclusive lock. Takes none, so that nobody is kept from it.
    virtual result<bool> is_locked_exclusively() = 0;

    /// Lays a private (copy-on-write) mapping of [offset, offset+bytes) over the address range at `where`, which the
    /// caller has reserved. Multiples of the page size. The mapping may outlive the file object.
    virtual result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) = 0;

    /// An opening of its own of this very file, for locks on its bytes.
    virtual result<std::unique_ptr<byte_locks>> open_locks() = 0;
    /// Its first bytes as memory that all who map it share, for the file is long enough; with access::read_only it may not be
    /// written. Left out of core files, and absent in forked children. It may outlive the file object; its owner unmaps it.
    virtual result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, access protection) = 0;
    virtual result<file_identity> identity() = 0;

    /// Its permission bits.
    virtual result<unsigned> permissions() = 0;
    /// Whether `path` names this very file: itself, not through a symbolic link that is there.
    virtual result<bool> is_at(const std::string& path) = 0;
    /// The name of this very file, which somebody may have renamed or removed since it was opened; path() if that is one.
    virtual result<present_name> find_name() = 0;
    /// As it was opened.
    [[nodiscard]] virtual const std::string& path() const = 0;
};

/// The directory operations that heaps need.
class file_system {
public:
    file_system() = default;
    file_system(const file_system&) = delete;
    file_system& operator=(const file_system&) = delete;
    virtual ~file_system() = default;

    /// Opens an existing file; errc::not_found when there is none, errc::not_a_heap, without waiting, when it is no
    /// regular file.
    virtual result<std::unique_ptr<file>> open(const std::string& path, access mode) = 0;
    /// Opens for reading and writing, creating an empty file with permission bits `mode` (less the umask) when absent.
    /// What a symbolic link leads to is not opened.
    virtual result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) = 0;
    virtual result<bool> exists(const std::string& path) = 0;
    /// Whether the directory is there. A system without directories has them all.
    virtual result<bool> has_directory(const std::string& path) = 0;
    /// Renames atomically; errc::exists, and nothing done, when `to` is there already.
    virtual result<void> rename_to_new(call_site where, const std::string& from, const std::string& to) = 0;
    /// Renames atomically; a file that is at `to` is gone then.
    virtual result<void> rename_over(call_site where, const std::string& from, const std::string& to) = 0;
    /// Removes this name of `which`; no error when it is absent, and nothing done when it is the name of another file. No
    /// system call compares and removes in one: a file that gets this name between the two is removed, too.
    virtual result<void> remove(call_site where, const std::string& path, file& which) = 0;
    /// Makes creations, renames and removals in the directory that holds `path` durable.
    virtual result<void> sync_directory(call_site where, const std::string& path) = 0;
};

/// The real one. Stateless; lives for the whole program.
file_system& posix_file_system();

} // namespace remanence::os
