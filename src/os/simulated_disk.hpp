// A disk in memory, for tests: it does what the file interface says, records every operation that changes something,
// and can be put into each state in which a power loss may leave the medium. May use: base, os/file.hpp.
//
// Contents live in memfds, so a private mapping of a simulated file is a real one. What a program sees (the page cache)
// is the disk's *current* state; every change of it can be undone (savepoint, rewind), so trying one crash state costs
// what the state differs from the one before, not the size of the files.
//
// Rules of the model:
//   S1 A sync makes earlier writes to that file, and its size, durable; nothing else.
//   S2 Creations, renames and removals are durable after sync_directory() of their directory; a rename is atomic.
//   S3 What is not synced may be lost or kept, whole or, for a write, by sectors of 512 bytes of the file (R6).
//   S4 After a failed sync the writes to that file before it are never made durable by a later sync: it finds the pages
//      clean. Directory entries do not get lost so: a file system that cannot write its metadata stops altogether.
#pragma once

#include "base/units.hpp"
#include "os/file.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::os {

/// One call that changes something, with all that is needed to perform it again.
struct disk_operation {
    enum class kind : std::uint8_t {
        write,
        write_direct,
        resize,
        reserve,
        punch,
        sync, // of a file
        create,
        rename,
        remove,
        sync_directory, // of a directory
        marker,         // of the test: nothing happens
    };
    kind what = kind::marker;
    bool failed = false;     // by fail_at() or for lack of space: had no effect
    std::uint32_t inode = 0; // the file; names come and go
    site where = "";
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;       // of a resize: the new size; of a marker: its value
    std::string path{};            // of a sync_directory: the directory
    std::string to{};              // of a rename
    std::vector<std::byte> data{}; // of a write; empty when all of it is zeros

    [[nodiscard]] bool is_write() const { return what == kind::write || what == kind::write_direct; }
    [[nodiscard]] bool is_sync() const { return what == kind::sync || what == kind::sync_directory; }
    /// Whether it changes what a program sees; syncs and markers do not.
    [[nodiscard]] bool is_change() const { return !failed && !is_sync() && what != kind::marker; }
    /// Sectors of the file that a write touches, even in part.
    [[nodiscard]] std::uint32_t sectors() const;
    [[nodiscard]] std::string describe() const;
};

/// What of an operation reached the medium. Several parts of one operation may follow each other.
struct persisted_part {
    static constexpr std::uint32_t k_all = ~std::uint32_t{0};
    std::uint32_t operation;         // index in the trace
    std::uint32_t sectors_begin = 0; // of a write: the sectors that persist, counted from its first one
    std::uint32_t sectors_end = k_all;
    bool data = true; // of a write: false when only the size persists
    bool size = true; // of a write: false when the file does not grow by it
    friend bool operator==(const persisted_part&, const persisted_part&) = default;
};

/// Every directory exists. Operations may come from several threads; apply(), rewind() and the settings may not.
class simulated_disk final : public file_system {
public:
    simulated_disk();
    ~simulated_disk() override;

    result<std::unique_ptr<file>> open(const std::string& path, access mode) override;
    result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) override;
    result<bool> exists(const std::string& path) override;
    result<void> rename_to_new(site where, const std::string& from, const std::string& to) override;
    result<void> remove(site where, const std::string& path) override;
    result<void> sync_directory(site where, const std::string& path) override;

    /// Everything recorded since the beginning, or since the last take_trace().
    [[nodiscard]] const std::vector<disk_operation>& trace() const { return trace_; }
    std::vector<disk_operation> take_trace();
    /// Puts a remark of the test into the trace.
    void marker(site where, std::uint64_t value);

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
    /// The files together may take up this much, in blocks of 4 KiB; a hole takes up nothing. Set it before the first
    /// file.
    void limit_space(std::uint64_t bytes) { space_limit_ = bytes; }
    [[nodiscard]] std::uint64_t space_used() const;
    /// Syncs from the call site of this name are not done, and nobody is told: what tests of the tests need.
    void drop_syncs_at(std::string site_name) { dropped_site_ = std::move(site_name); }

    /// Names and sizes, for messages of tests.
    [[nodiscard]] std::string describe_files() const;

private:
    friend class simulated_file;
    struct inode;
    struct change; // one step of undo
    static constexpr std::uint32_t k_no_inode = ~std::uint32_t{0};

    inode& inode_of(std::uint32_t number);
    std::uint32_t find(const std::string& path) const;
    std::unique_ptr<file> open_inode(std::uint32_t number, const std::string& path, access mode);
    result<void> record(disk_operation operation); // fails, or performs and appends to the trace
    bool has_space_for(const disk_operation& operation);
    void perform(const disk_operation& operation, const persisted_part& part);
    void perform_write(const disk_operation& operation, const persisted_part& part);
    void set_entry(const std::string& path, std::uint32_t number);
    void save(std::uint32_t number, byte_range range);
    void undo(change& last);
    int new_memfd();

    mutable std::mutex mutex_;
    std::map<std::string, std::uint32_t, std::less<>> entries_;
    std::vector<std::unique_ptr<inode>> inodes_; // by number
    std::vector<change> changes_;
    std::vector<disk_operation> trace_;
    std::vector<int> memfd_pool_; // empty ones
    std::size_t open_files_ = 0;
    std::optional<std::uint64_t> fail_in_;
    errc fail_code_ = errc::io;
    bool dies_ = false; // at fail_in_, rather than to fail once
    bool dead_ = false;
    std::uint64_t space_limit_ = 0; // 0: none
    std::string dropped_site_;
};

/// Goes through a trace and puts the disk into the states a power loss at the point reached may leave. After a loss
/// everything that persisted is durable: it is an ordinary disk, on which recovery can be run (and rewound), and whose
/// recovery can be walked in turn.
class crash_walk {
public:
    /// `disk` is in the state before the first operation of `trace`, all of it durable, and returns there in the end.
    crash_walk(simulated_disk& disk, std::span<const disk_operation> trace);
    ~crash_walk();
    crash_walk(const crash_walk&) = delete;
    crash_walk& operator=(const crash_walk&) = delete;

    /// Operations performed before the loss.
    [[nodiscard]] std::uint32_t position() const { return position_; }
    void advance_to(std::uint32_t position);
    /// Those of them that are not durable, in the order of their calls: each may persist, in whole or in part.
    [[nodiscard]] const std::vector<std::uint32_t>& pending() const { return pending_; }

    /// The medium becomes: all that is durable, then these parts in this order. What the state shares with the one
    /// built last, up to the first difference, is not built again. Parts of one file must not go back behind durable
    /// ones.
    void build(std::span<const persisted_part> parts);
    /// All of pending(), of the last one only the first sectors.
    void build_prefix(std::uint32_t sectors_of_last = persisted_part::k_all);
    /// None of pending().
    void build_synced() { build({}); }

private:
    void advance();
    void drop_built(std::size_t parts_kept);

    simulated_disk& disk_;
    std::span<const disk_operation> trace_;
    simulated_disk::savepoint start_;
    std::uint32_t position_ = 0;
    std::vector<std::uint32_t> pending_;
    std::vector<std::uint32_t> orphans_; // S4: of pending_, those that a later sync of the file will find clean
    struct built_part {
        persisted_part part;
        simulated_disk::savepoint before;
    };
    std::vector<built_part> built_;
    std::vector<persisted_part> scratch_;
};

} // namespace remanence::os
