// Words of an inspected heap that look like pointers out of it.
//
// No process is there whose memory could be asked, as pointer_check.hpp does. So the value decides: an address in the places
// where Linux on x86-64 puts programs, libraries and stacks, or this library heaps, and not in this heap. What can hold no pointer by its type
// is left out (described_words.hpp). Where these words
// come from a sanitizer's memory they are not found; now and then one is a number.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"
#include "inspect/root_survey.hpp"
#include "types/pointer_check.hpp"

#include <vector>

namespace remanence::inspect {

/// After check_all(), and if that could check the allocator (inspection::knows_blocks()). Pages that cannot be read are left
/// out. `found.blocks` is not counted. O(heap), and O(roots · heap) if there is something to tell.
result<types::pointer_survey> survey_pointers(inspection& heap, const std::vector<surveyed_root>& roots,
                                              const inspection_progress& progress);

} // namespace remanence::inspect
