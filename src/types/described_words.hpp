// Which words of the heap can hold a pointer, by the schemas of its roots. Going through all roots takes code that few programs
// need: the function is weak, and src/api/part_names.cpp has it.
#pragma once

#include "base/range.hpp"
#include "txn/heap_memory.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace remanence::types {

/// A multiple of 8 bytes from the heap's base, and the block that the word lies in.
struct word_in_block {
    std::uint64_t at;
    heap_range block;
};

/// Of each word, in ascending order, whether the schema of a root leaves no room for a pointer there: a number, padding, the rest of a
/// text, what an optional or a variant does not hold, memory of a container behind its elements. False also where no schema describes it.
/// Memory must not change meanwhile. O(heap).
[[gnu::weak]] std::vector<bool> hold_no_pointer(txn::heap_memory& memory, std::span<const word_in_block> words);

} // namespace remanence::types
