// What a simulated disk records: operations, and which part of one reached the medium.
#pragma once

#include "os/file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::simulation {

/// One call that changes something, with all that is needed to perform it again.
struct disk_operation {
    enum class kind : std::uint8_t {
        write,
        write_direct,
        resize,
        reserve,
        punch,
        sync,         // of a file
        sync_written, // of the last write of the same range alone: written_before()
        create,
        rename,
        remove,
        sync_directory, // of a directory
        marker,         // of the test: nothing happens
    };
    kind what = kind::marker;
    bool failed = false;            // by fail_at() or for lack of space: had no effect
    bool grows = false;             // a write beyond the end of the file as it was
    std::uint32_t inode = 0;        // the file; names come and go
    os::call_site where = "(none)"; // of a create, which has none
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;       // of a resize: the new size; of a marker: its value
    std::string path{};            // of a sync_directory: the directory
    std::string to{};              // of a rename
    std::vector<std::byte> data{}; // of a write; empty when all of it is zeros

    [[nodiscard]] bool is_write() const { return what == kind::write || what == kind::write_direct; }
    [[nodiscard]] bool is_sync() const {
        return what == kind::sync || what == kind::sync_written || what == kind::sync_directory;
    }
    [[nodiscard]] bool is_of_directory() const {
        return what == kind::create || what == kind::rename || what == kind::remove;
    }
    /// Whether it changes what a program sees; syncs and markers do not.
    [[nodiscard]] bool is_change() const { return !failed && !is_sync() && what != kind::marker; }
    /// Sectors of the file that a write touches, even in part.
    [[nodiscard]] std::uint32_t sectors() const;
    [[nodiscard]] std::string describe() const;
};

/// What becomes of the writes before a sync of their file that failed (S4). In all of them a later sync succeeds.
enum class failed_sync : std::uint8_t {
    ext4,  // the cache keeps the data, as clean pages that nobody writes any more; sizes become durable all the same
    xfs,   // the cache keeps the data likewise; neither data nor sizes become durable
    btrfs, // the cache goes back to what is durable, sizes included
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

const char* name_of(disk_operation::kind what);

/// The index of the write that a sync_written behind these operations makes durable; their number when there is none.
/// What other threads did may lie between the two.
std::size_t written_before(std::span<const disk_operation> operations, const disk_operation& sync);

/// The directory that holds `path`; empty when the path names none.
std::string_view directory_of(std::string_view path);

} // namespace remanence::simulation
