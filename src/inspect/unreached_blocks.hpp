// Finds the blocks of a heap that no root reaches.
//
// The walk follows the schemas of the roots. It guesses too much rather than too little: no block is found that the
// program can still reach by pointers that the rules below follow.
//
//  UB1  Everything that a schema describes is followed by its type: members, elements, the memory of containers, and
//       pointers. Numbers are not followed.
//  UB2  Roots without a schema, classes that hide their members, bytes between declared members, what follows an object
//       in its block, and blocks that hold more than the one object that a pointer's type tells (arrays, derived
//       classes) are opaque. Arrays of pointers are not. There, and in all blocks that they lead to, each aligned word counts as a pointer if its value is an address in a block. Except
//       in roots of C programs, it also counts as a link of our containers if it is the distance to the beginning of a
//       block, from the word itself or from the beginning of its block.
//  UB3  Pointers that are packed, tagged in their upper bits or not aligned are not followed where UB2 applies.
//  UB4  Objects that roots contain are visited first. Then a pointer into a block that such an object owns leads to
//       nothing new. What other objects own is visited again where a pointer of another type leads there.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "inspect/heap_schema.hpp"

#include <vector>

namespace remanence::inspect {

/// `blocks`: all blocks of the heap, sorted, with their red zones. Returns those that are not reached, sorted. Memory
/// must not change meanwhile. errc::corrupt if the directory, a schema, or an object that a root contains is damaged.
/// O(heap), in time; memory O(blocks and pointers).
result<std::vector<heap_range>> unreached_blocks(const heap_to_read& heap, std::vector<heap_range> blocks);

} // namespace remanence::inspect
