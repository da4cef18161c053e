// The memory of a heap, read by offsets that come from the file.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>

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
};

} // namespace remanence::types
