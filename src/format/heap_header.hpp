// The first page of the heap's memory: what everything in the heap is found from. Part of the heap's contents, so
// commit, rollback and recovery cover it.
#pragma once

#include "base/units.hpp"
#include "format/alloc_state.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace remanence::format {

inline constexpr std::uint64_t k_header_magic = 0x5041454844414548; // "HEADHEAP"
inline constexpr std::uint32_t k_header_version = 1;

struct heap_header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t zero;
    std::uint64_t root_word; // heap offset of the root directory; 0: there is none yet
    std::uint64_t reserved[5];
    alloc_state allocator;
};
static_assert(sizeof(heap_header) <= k_page_bytes);
static_assert(offsetof(heap_header, root_word) == 16 && offsetof(heap_header, allocator) == 64);
static_assert(std::is_trivially_copyable_v<heap_header>);

} // namespace remanence::format
