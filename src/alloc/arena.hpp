// An arena that was found in the heap. Only the sources of block_allocator include this.
#pragma once

#include "alloc/block_allocator.hpp"

namespace remanence::alloc {

struct block_allocator::arena {
    arena(block_allocator& of, std::byte* base, const format::arena_header& head)
        : header(&head),
          bytes(head.pages * k_page_bytes),
          blocks(
              base, const_cast<format::alloc_state&>(head.allocator), // NOLINT(cppcoreguidelines-pro-type-const-cast)
              [&of, &head](std::uint64_t end) -> result<std::uint64_t> { return of.make_planes_zero(head, end); },
              bytes, k_page_bytes) {}

    const format::arena_header* header;
    std::uint64_t bytes;
    block_allocator blocks;
};

} // namespace remanence::alloc
