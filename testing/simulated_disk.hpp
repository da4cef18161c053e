// A disk in memory, for tests: it does what the file interface says, records every operation that changes something,
// and can be put into each state in which a power loss may leave the medium (testing/crash_walk.hpp).
//
// A private mapping of a simulated file is a real one (testing/simulated_contents.hpp). What a program sees (the page cache) is
// the disk's *current* state; every change of it can be undone (savepoint, rewind), so trying one crash state costs what
// the state differs from the one before, not the size of the files.
//
// Rules of the model:
//   S1 A sync makes earlier writes to that file, and its size, durable; nothing else.
//   S2 Creations, renames and removals are durable after sync_directory() of their directory; a rename is atomic.
//   S3 What is not synced may be lost or kept, whole or, for a write, by sectors of 512 bytes of the file (R6).
//   S4 After a failed sync the writes to that file before it are never made durable by a later sync, which finds the pages
//      clean; what the cache shows and which sizes are kept depends on the file system (failed_sync). Directory entries
//      do not get lost so: a file system that cannot write its metadata stops altogether.
//   S5 A synced block may rot, when a test asks for it (rot()).
//   S6 A durable write makes itself durable, with the size it needs; an earlier write of the same bytes may still be lost,
//      or persist over it.
#pragma once

#include "base/range.hpp"
#include "os/file.hpp"
#include "testing/disk_operation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace remanence::simulation {

class simulated_contents;

/// Every directory exists. Operations may come from several threads; apply(), rewind() and the settings may not.
class simulated_disk final : public os::file_system {
public:
    simulated_disk();
    ~simulated_disk() override;

    result<std::unique_ptr<os::file>> open(const std::string& path, os::access mode) override;
    result<std::unique_ptr<os::file>> open_or_create(const std::string& path, unsigned mode) override;
    result<bool> exists(const std::string& path) override;
    result<bool> has_directory(const std::string& /*path*/) override { return true; }
    result<void> rename_to_new(os::call_site where, const std::string& from, const std::string& to) override;
    result<void> rename_over(os::call_site where, const std::string& from, const std::string& to) override;
    result<void> remove(os::call_site where, const std::string& path, os::file& which) override;
    result<void> sync_directory(os::call_site where, const std::string& path) override;

    /// Everything recorded since the beginning, or since the last take_trace().
    [[nodiscard]] const std::vector<disk_operation>& trace() const { return trace_; }
    std::vector<disk_operation> take_trace();
    /// Removes a file, whichever has the name; no error when it is absent.
    result<void> remove(os::call_site where, const std::string& path);
    /// Puts a remark of the test into the trace.
    void marker(os::call_site where, std::uint64_t value);

    /// Performs a recorded operation, or a part of it, without recording it again. One that names a file or an entry
    /// which is not there (because its creation did not persist) is possible and well defined.
    void apply(const disk_operation& operation, const persisted_part& part);
    void apply(const disk_operation& operation) { apply(operation, persisted_part{.operation = 0}); }

    /// A point to which the current state can be taken back.
    struct savepoint {
        std::size_t changes;
        std::size_t inodes;
        std::size_t trace;
    };
    [[nodiscard]] savepoint now() const;
    /// Undoes everything since then; the trace ends there again too. No file may be open, no mapping in use.
    void rewind(const savepoint& to);

    /// The nth recorded operation from now (0: the next one; markers do not count) fails with `code`, io or no_space.
    void fail_at(std::uint64_t n, errc code);
    /// That one and all later ones fail with errc::io and are not recorded, as if the process had died before them.
    void die_at(std::uint64_t n);
    /// Whether the operation of fail_at() or die_at() has not been reached.
    [[nodiscard]] bool failure_is_ahead() const { return fail_in_.has_value(); }
    /// Ends what fail_at() and die_at() began.
    void work_again();
    /// Whether files can be mapped; that they cannot, for want of mappings, has nothing to do with the disk.
    void allow_mappings(bool allowed) { allows_mappings_ = allowed; }
    /// How S4 goes; failed_sync::xfs, unless told otherwise. Set it before the first file.
    void set_after_failed_sync(failed_sync how) { after_failed_sync_ = how; }
    [[nodiscard]] failed_sync after_failed_sync() const { return after_failed_sync_; }
    /// A durable write is a write and a sync, as where the file system has no better. Set it before the first file.
    void refuse_durable_writes() { takes_durable_writes_ = false; }
    [[nodiscard]] bool takes_durable_writes() const { return takes_durable_writes_; }
    /// Its files say that this kind of file system is behind them, which others have a hand in.
    void pretend_to_be(std::string kind) { reached_by_ = std::move(kind); }
    /// S5: inverts the bits of `mask` in one byte of a file. Not recorded; rewind() undoes it.
    void rot(const std::string& path, std::uint64_t offset, std::byte mask);
    /// Of the names, sizes and bytes of all files: equal for equal disks, and different ones have the same once in 2⁶⁴.
    /// Costs a hash of each page changed since the last call.
    [[nodiscard]] std::uint64_t fingerprint() const;
    /// Names and sizes of all files.
    [[nodiscard]] std::map<std::string, std::uint64_t> files() const;
    /// The files together may take up this much, in blocks of 4 KiB; a hole takes up nothing. Set it before the first
    /// file.
    void limit_space(std::uint64_t bytes) { space_limit_ = bytes; }
    [[nodiscard]] std::uint64_t space_used() const;
    /// Whatever is called from the call site of this name is not done, and nobody is told: what tests of the tests need.
    void drop_at(std::string site_name) { dropped_site_ = std::move(site_name); }

    /// Names and sizes, for messages of tests.
    [[nodiscard]] std::string describe_files() const;

private:
    friend class simulated_file;
    struct inode;
    struct change; // one step of undo
    static constexpr std::uint32_t k_no_inode = ~std::uint32_t{0};

    inode& inode_of(std::uint32_t number);
    std::uint32_t find(const std::string& path) const;
    std::unique_ptr<os::file> open_inode(std::uint32_t number, const std::string& path, os::access mode);
    result<void> record(disk_operation operation); // fails, or performs and appends to the trace
    bool has_space_for(const disk_operation& operation);
    void perform(const disk_operation& operation, const persisted_part& part);
    void perform_write(const disk_operation& operation, const persisted_part& part);
    void set_entry(const std::string& path, std::uint32_t number);
    void save(std::uint32_t number, file_range range);
    void undo(change& last);
    void restore(const change& saved);
    void forget_unsynced(std::uint32_t number);
    void all_is_durable(inode& file) const;
    std::unique_ptr<simulated_contents> new_contents();

    mutable std::mutex mutex_;
    std::map<std::string, std::uint32_t, std::less<>> entries_;
    std::vector<std::unique_ptr<inode>> inodes_; // by number
    std::vector<change> changes_;
    std::vector<disk_operation> trace_;
    std::vector<std::unique_ptr<simulated_contents>> pool_; // of zeros, for the next files
    std::size_t open_files_ = 0;
    std::string reached_by_;
    std::optional<std::uint64_t> fail_in_;
    errc fail_code_ = errc::io;
    bool dies_ = false; // at fail_in_, rather than to fail once
    bool dead_ = false;
    bool allows_mappings_ = true;
    bool takes_durable_writes_ = true;
    std::uint64_t space_limit_ = 0; // 0: none
    failed_sync after_failed_sync_ = failed_sync::xfs;
    std::string dropped_site_;
};

} // namespace remanence::simulation
