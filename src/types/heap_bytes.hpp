// The memory of a heap, read by offsets that come from the file.
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

    /// Whether the range lies in the heap (I7).
    [[nodiscard]] virtual bool contains(std::uint64_t offset, std::uint64_t bytes) const = 0;
    /// Its bytes; errc::corrupt when they cannot be read. Precondition: it lies in the heap.
    virtual result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) = 0;
    /// The allocated block that a place lies in, without its guard; nothing: it lies in none. errc::corrupt when the allocator's structures
    /// are damaged. O(log of the block's size); the first time perhaps O(heap / 4096).
    virtual result<std::optional<heap_range>> block_around(std::uint64_t offset) = 0;
    /// What block_around() says of a block that was allocated with this size.
    [[nodiscard]] virtual std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const = 0;
};

} // namespace remanence::types
