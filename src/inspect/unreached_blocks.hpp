// Finds the blocks of a heap that no root reaches.
//
// The walk follows the schemas of the roots. It guesses too much rather than too little: no block is found that the
// program can still reach by pointers that the rules below follow.
//
//  UB1  What a schema describes is followed by its type (RW1). Pointers are followed, numbers are not.
//  UB2  Opaque are: what RW2 says, roots without a schema, and blocks of which it is not certain what they hold. That
//       is certain if a container has allocated the block, or if a pointer leads to its beginning and it has the size
//       for one object of that type. Even then a derived class may use what lies behind the last member. In opaque
//       bytes, and in all of each block that they lead to, the value of any eight bytes counts as a pointer if it is an
//       address in a block. Except in roots of C programs, an aligned word also counts as a link of our containers, if
//       it is the distance to the beginning of a block from the word itself or from the beginning of its block.
//  UB3  What is stored otherwise is not followed: tagged, compressed or combined addresses, and indexes.
//  UB4  A pointer into a block that an object of a root has allocated leads to nothing new if that object has a part of
//       the pointer's type there. Otherwise that block is opaque: it may be a pool of objects.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/sorted_blocks.hpp"

#include <optional>
#include <string>
#include <vector>

namespace remanence::inspect {

struct unreached {
    std::vector<heap_range> blocks; // sorted
    /// What may refer to others of these blocks in a way that is not followed (UB3): objects with virtual functions of
    /// which not all is known. Empty if there are none; other classes, see what_hides_references().
    std::string uncertain;
};
/// `blocks`: all blocks of the heap, with their red zones. Returns those that are not reached. Memory must not change
/// meanwhile. Once it has called block_around() of the heap's bytes, it keeps no address across a call of at().
/// errc::corrupt if the directory, a schema, or an object that a root contains is damaged. O(heap), in time; memory
/// O(blocks and pointers).
result<unreached> unreached_blocks(const heap_to_read& heap, const sorted_blocks& blocks);

/// Returns in words what types of roots may refer to blocks in a way that unreached_blocks() does not follow (UB3): a root
/// without a schema, a class that hides members, a pointer without a type. Nothing if all types of all roots are known.
/// errc::corrupt. O(types).
result<std::optional<std::string>> what_hides_references(const heap_to_read& heap);

} // namespace remanence::inspect
