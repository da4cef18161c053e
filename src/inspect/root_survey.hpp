// Finds out which roots of an inspected heap are whole, if the heap is damaged in parts.
//
// The search for everything that a root reaches guesses generously (root_walk.hpp). So a root that is called whole is
// whole with all that it reaches by plain pointers and by the distances of our containers. Words that only look like
// links can make a whole root look damaged, never the reverse. Pointers that are packed, tagged or not aligned are not
// followed.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <remanence/inspect.hpp>

#include <vector>

namespace remanence::inspect {

/// Returns the roots in the order of their names, all of them called whole. Damage of the directory goes to problems();
/// the roots that can be read are returned.
result<std::vector<surveyed_root>> list_roots(inspection& heap);

/// Checks, after check_all() or check_structure(), that the roots lie in blocks. A root that does not is damage, and
/// goes to problems(). O(roots).
void check_roots(inspection& heap, const std::vector<surveyed_root>& roots);

/// Checks that the type table can be read, and that the schema of each root is sound. Damage goes to problems(): it
/// keeps programs from looking inside the roots. O(roots and their types).
result<void> check_schemas(inspection& heap, const std::vector<surveyed_root>& roots);

/// Does what check_roots() does, and finds out for each root if it is whole. Call it after check_all(). O(roots · heap)
/// if there is damage, else O(roots).
result<void> survey_roots(inspection& heap, std::vector<surveyed_root>& roots);

} // namespace remanence::inspect
