// Finds words of an inspected heap that look like pointers to places outside of it.
//
// pointer_check.hpp asks which memory the process has mapped; an inspected heap has no such process. So the value
// decides: the word must be an address outside of this heap, in a range where Linux on x86-64 puts programs, libraries
// and stacks, or where this library puts heaps. Words whose type can hold no pointer are ignored (described_words.hpp).
// Pointers into a sanitizer's memory are not found. A number is sometimes mistaken for a pointer.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"
#include "inspect/root_survey.hpp"
#include "types/pointer_check.hpp"

#include <vector>

namespace remanence::inspect {

/// Must be called after check_all(), and only if that could check the allocator (inspection::knows_blocks()). Skips
/// pages that cannot be read. Does not set `blocks` of the result. O(heap); if it finds a word, also O(roots · heap).
result<types::pointer_survey> survey_pointers(inspection& heap, const std::vector<surveyed_root>& roots,
                                              const inspection_progress& progress);

} // namespace remanence::inspect
