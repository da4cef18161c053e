// Finds out whether words of the heap can hold a pointer, from the types of the objects in which the words lie.
//
// DW1  Whether a word can hold a pointer depends on the object that contains the word. Pointers, classes that hide
//      their members, references and a container's own words can hold a pointer. Numbers, characters, bit-fields,
//      enumerations and bytes between members cannot. Nor can bytes without a value: those of an empty optional, or the
//      unused rest of a variant, of a text, or of memory that a container uses for elements only.
// DW2  A class that states its members (REM_REFLECT) may have others. So whole words between the stated members can
//      hold a pointer.
// DW3  Objects that roots contain, directly or in containers, are visited first. What is decided there is final.
//      Targets of pointers are visited after that. A target may be a part of something else, so only whole words that
//      are still undecided are decided there.
#pragma once

#include "inspect/heap_schema.hpp"
#include "types/schema_reader.hpp"

#include <span>
#include <vector>

namespace remanence::inspect {

/// Implements types::hold_no_pointer() for any heap that can be read. Words that cannot be reached because of damage
/// count as words that may hold a pointer. Never fails. O(heap); memory O(pointers) if some word lies in no object that
/// a root contains.
std::vector<bool> hold_no_pointer(const heap_to_read& heap, std::span<const types::word_in_block> words);

} // namespace remanence::inspect
