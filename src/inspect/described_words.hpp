// Tells if words of the heap can hold a pointer, by the types of the objects that they lie in.
//
// DW1  The object that contains a word decides. A pointer, a class that hides its members, a reference and a
//      container's own words can hold a pointer. Numbers, characters, bit-fields, enumerations and bytes between
//      members cannot. Nor can bytes without a value: an empty optional, the unused rest of a variant, of a text, or of
//      the memory that a container has for elements only.
// DW2  A class that states its members (REM_REFLECT) may have others: whole words between the stated members can hold a
//      pointer.
// DW3  First come the objects that roots contain, themselves and in containers; these are certain. Then come the
//      targets of pointers, which may be parts of something else: they decide only whole words, and only those that
//      nothing else has decided.
#pragma once

#include "inspect/heap_schema.hpp"
#include "types/schema_reader.hpp"

#include <span>
#include <vector>

namespace remanence::inspect {

/// Does what types::hold_no_pointer() says, for any heap that can be read. Where the heap is damaged, words count as
/// not described. Never fails. O(heap); memory O(pointers) if some word is not described.
std::vector<bool> hold_no_pointer(const heap_to_read& heap, std::span<const types::word_in_block> words);

} // namespace remanence::inspect
