// What a simulated file consists of apart from its names: contents, size, locks, and the blocks it takes up.
// Private to the simulated disk and its files. May use: base, os/simulated_contents.hpp, os/simulated_disk.hpp.
#pragma once

#include "base/units.hpp"
#include "os/simulated_contents.hpp"
#include "os/simulated_disk.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace remanence::os {

/// Blocks of a file that take up space: disjoint ranges, never adjacent.
class block_set {
public:
    static byte_range blocks_of(byte_range range) {
        const std::uint64_t begin = align_down(range.offset, k_page_bytes);
        return {begin, align_up(range.end(), k_page_bytes) - begin};
    }
    void add(byte_range range);
    void remove(byte_range range);
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    std::map<std::uint64_t, std::uint64_t> ends_; // begin → end
    std::uint64_t bytes_ = 0;
};

struct simulated_disk::inode {
    std::unique_ptr<simulated_contents> contents; // zeros from `size` on
    std::uint64_t size = 0;
    std::size_t open_count = 0;
    std::size_t shared_locks = 0;
    bool exclusive_lock = false;
    block_set blocks{};              // kept only when space is limited
    std::size_t durable_changes = 0; // the disk's changes before this one are durable, as far as they are the file's
    std::vector<disk_operation> durable_writes{}; // S6: of the changes since then; kept only for failed_sync::btrfs

    /// Grows the file where the bytes end behind it.
    void fill(std::uint64_t offset, std::span<const std::byte> bytes);
    void resize(std::uint64_t bytes);
};

} // namespace remanence::os
