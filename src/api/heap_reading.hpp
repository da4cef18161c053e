// Makes an open heap readable by src/inspect.
#pragma once

#include "base/range.hpp"
#include "inspect/heap_schema.hpp"
#include "txn/heap_memory.hpp"
#include "types/root_directory.hpp"

#include <cstdint>
#include <vector>

namespace remanence::detail {

/// Returns a heap as it is in memory; `bytes` must be of that memory, and outlive the result.
inline inspect::heap_to_read to_read(types::memory_bytes& bytes, txn::heap_memory& memory, std::uint64_t version = 0) {
    return {bytes,   memory.path(),   reinterpret_cast<std::uintptr_t>(memory.base()), memory.accessible_bytes(),
            version, &memory.header()};
}

/// Returns all blocks, sorted, with their red zones. O(blocks).
inline std::vector<heap_range> blocks_of(txn::heap_memory& memory) {
    return memory.with_allocator([&](const alloc::block_allocator& from) {
        std::vector<heap_range> all;
        from.for_each_block([&](alloc::block each) { all.push_back({memory.offset_of(each.start), each.bytes}); });
        return all;
    });
}

} // namespace remanence::detail
