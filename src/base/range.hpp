// Half-open ranges. Each kind of thing has a range type of its own, so that the compiler refuses to mix them up.
// "Range" means any of these; a "run" is a range that was made by joining adjacent ones.
#pragma once

#include "base/units.hpp"

#include <cstdint>

namespace remanence {

/// A range of bytes of the thing that `Of` stands for, counted from its beginning.
template <class Of>
struct byte_range_of {
    std::uint64_t offset;
    std::uint64_t bytes;
    [[nodiscard]] constexpr std::uint64_t end() const { return offset + bytes; }
    [[nodiscard]] constexpr bool contains(std::uint64_t at) const { return at - offset < bytes; }
    friend constexpr bool operator==(const byte_range_of&, const byte_range_of&) = default;
};

/// A range of numbered items of the kind that `Of` stands for.
template <class Of>
struct number_range_of {
    std::uint64_t first;
    std::uint64_t count;
    [[nodiscard]] constexpr std::uint64_t end() const { return first + count; }
    [[nodiscard]] constexpr bool contains(std::uint64_t number) const { return number - first < count; }
    friend constexpr bool operator==(const number_range_of&, const number_range_of&) = default;
};

/// Bytes of the heap and of its mapping: offsets from the base.
using heap_range = byte_range_of<struct heap_contents>;
/// Bytes of a file.
using file_range = byte_range_of<struct file_contents>;
/// Bytes of the memory of this process, by address.
using address_range = byte_range_of<struct process_memory_contents>;
/// Pages of the heap.
using page_range = number_range_of<struct heap_page>;
/// Chunks of the heap.
using chunk_range = number_range_of<struct heap_chunk>;

constexpr heap_range to_bytes(page_range pages) { return {pages.first * k_page_bytes, pages.count * k_page_bytes}; }
constexpr heap_range to_bytes(chunk_range chunks, std::uint64_t chunk_bytes) {
    return {chunks.first * chunk_bytes, chunks.count * chunk_bytes};
}
/// Precondition: the range consists of whole chunks.
constexpr chunk_range to_chunks(heap_range bytes, std::uint64_t chunk_bytes) {
    return {bytes.offset / chunk_bytes, bytes.bytes / chunk_bytes};
}

} // namespace remanence
