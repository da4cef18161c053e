// Words of an inspected heap that look like pointers out of it.
//
// pointer_check.hpp asks the memory of the process; here there is no such process. So the value decides: the word must
// be an address outside of this heap, in a range where Linux on x86-64 puts programs, libraries and stacks, or where
// this library puts heaps. Words whose type can hold no pointer are left out (described_words.hpp). Pointers into a
// sanitizer's memory are not found; now and then a number is taken for a pointer.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"
#include "inspect/root_survey.hpp"
#include "types/pointer_check.hpp"

#include <vector>

namespace remanence::inspect {

/// Call it after check_all(), and only if that could check the allocator (inspection::knows_blocks()). Skips pages that
/// cannot be read. Does not count `found.blocks`. O(heap); if it finds a word, also O(roots · heap).
result<types::pointer_survey> survey_pointers(inspection& heap, const std::vector<surveyed_root>& roots,
                                              const inspection_progress& progress);

} // namespace remanence::inspect
