// Whether words of the heap can hold a pointer, by the types of what lies there.
//
// DW1  A word is told by the object that has it: a pointer, a class that hides its members, a reference and a container's own words can
//      hold one; numbers, characters, bit-fields, enumerations and bytes between members cannot. Nor can what has no value: an empty
//      optional, the rest of a variant, of a text, of the memory that a container has for elements only.
// DW2  A class that says its members (REM_REFLECT) may have others: whole words between those that it says can hold a pointer.
// DW3  First what roots hold themselves and by containers, which is certain. Then what pointers lead to, which may be a part of something
//      else: that decides only words that nothing else has decided, and only whole ones.
#pragma once

#include "inspect/heap_schema.hpp"
#include "types/schema_reader.hpp"

#include <span>
#include <vector>

namespace remanence::inspect {

/// As types::hold_no_pointer() says, of any heap that can be read. Where it is damaged, words stay what they are without a description.
/// Never fails. O(heap); memory O(pointers) if some word is not described.
std::vector<bool> hold_no_pointer(const heap_to_read& heap, std::span<const types::word_in_block> words);

} // namespace remanence::inspect
