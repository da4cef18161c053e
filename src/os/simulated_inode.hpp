// What a simulated file consists of apart from its names: contents in a memfd, size, locks, and the blocks it takes up.
// Private to the simulated disk and its files. May use: base, os/simulated_disk.hpp.
#pragma once

#include "base/units.hpp"
#include "os/simulated_disk.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
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

/// The host's own failures (no memory, no descriptors) end the test: they are not what it simulates.
struct simulated_disk::inode {
    int memfd;
    std::uint64_t size = 0;
    std::size_t open_count = 0;
    std::size_t shared_locks = 0;
    bool exclusive_lock = false;
    block_set blocks{}; // kept only when space is limited

    void fetch(std::uint64_t offset, std::span<std::byte> into) const;
    /// Grows the file where the bytes end behind it.
    void fill(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Within the file.
    void zero(byte_range range);
    void resize(std::uint64_t bytes);
    /// Where the range holds anything but holes.
    [[nodiscard]] std::vector<byte_range> data_within(byte_range range) const;
};

} // namespace remanence::os
