// What a simulated file consists of apart from its names: contents, size, locks, and the blocks it takes up. Private
// to the simulated disk and its files.
#pragma once

#include "base/units.hpp"
#include "testing/block_set.hpp"
#include "testing/simulated_contents.hpp"
#include "testing/simulated_disk.hpp"
#include "testing/simulated_locks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace remanence::simulation {

struct simulated_disk::inode {
    std::unique_ptr<simulated_contents> contents; // zeros from `size` on
    std::uint64_t size = 0;
    std::size_t open_count = 0;
    simulated_locks locks{};
    std::shared_ptr<std::byte>
        shared_memory{};             // once mapped so; not what reading the file yields, nor ever on the medium
    block_set blocks{};              // kept only when space is limited
    std::size_t durable_changes = 0; // the disk's changes before this one are durable, as far as they are the file's
    std::vector<disk_operation> durable_writes{}; // S6: of the changes since then; kept only for failed_sync::btrfs

    /// Grows the file where the bytes end behind it.
    void fill(std::uint64_t offset, std::span<const std::byte> bytes);
    void resize(std::uint64_t bytes);
};

} // namespace remanence::simulation
