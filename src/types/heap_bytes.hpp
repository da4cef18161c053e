// Gives access to the memory of a heap by offsets that come from the file.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace remanence::types {

class heap_bytes {
public:
    heap_bytes() = default;
    heap_bytes(const heap_bytes&) = delete;
    heap_bytes& operator=(const heap_bytes&) = delete;
    virtual ~heap_bytes() = default;

    /// True if the range lies in the heap (I7).
    [[nodiscard]] virtual bool contains(std::uint64_t offset, std::uint64_t bytes) const = 0;
    /// Returns the address of these bytes; errc::corrupt if they cannot be read. Precondition: the range lies in the
    /// heap.
    virtual result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) = 0;
    /// Returns the allocated block that contains the offset, without its red zones; nothing if no block does.
    /// errc::corrupt if the allocator's structures are damaged. O(log of the block's size); the first call may take
    /// O(heap / 4096).
    virtual result<std::optional<heap_range>> block_around(std::uint64_t offset) = 0;
    /// Returns the size that block_around() reports for a block that was allocated with this size.
    [[nodiscard]] virtual std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const = 0;
};

} // namespace remanence::types
