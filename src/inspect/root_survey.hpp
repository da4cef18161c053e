// Finds out which roots of a partly damaged heap are whole.
//
// The search for everything that a root reaches guesses too much rather than too little (root_walk.hpp). So if a root
// is called whole, everything is undamaged that it reaches by plain pointers, or by the distances that this library's
// containers store in place of pointers. Words that only look like links can make a whole root look damaged, but never
// the reverse. Pointers that are packed, tagged or unaligned are not followed.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <remanence/inspect.hpp>

#include <vector>

namespace remanence::inspect {

/// Returns the roots in the order of their names, all of them marked as whole. Adds damage of the root directory to
/// problems(), and returns the roots that can be read.
result<std::vector<surveyed_root>> list_roots(inspection& heap);

/// Checks that the roots lie in blocks; to be called after check_all() or check_structure(). Adds each root that lies
/// in no block to problems(). O(roots).
void check_roots(inspection& heap, const std::vector<surveyed_root>& roots);

/// Checks that the type table can be read, and that each root's schema is sound. Adds damage to problems(), because
/// programs cannot look into a root whose schema is damaged. O(roots and their types).
result<void> check_schemas(inspection& heap, const std::vector<surveyed_root>& roots);

/// Checks that the table of classes with virtual functions can be read, and the schemas of these classes. Adds damage to
/// problems(). O(classes).
result<void> check_classes(inspection& heap);

/// Does the same as check_roots(), and finds out for each root whether it is whole. Must be called after check_all().
/// O(roots · heap) if there is damage, else O(roots).
result<void> survey_roots(inspection& heap, std::vector<surveyed_root>& roots);

} // namespace remanence::inspect
