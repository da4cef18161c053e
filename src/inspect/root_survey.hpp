// Which roots of an inspected heap are whole: for a heap that is damaged in parts.
//
// What a root reaches is guessed (root_walk.hpp), generously. So a root that is called whole is whole with all that it
// reaches by plain pointers and by our containers' distances. Words that only look like either make the answer too dark,
// never too bright; pointers that are packed, tagged or not aligned are not followed.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <remanence/inspect.hpp>

#include <vector>

namespace remanence::inspect {

/// The roots by name, as the directory has them, all of them called whole. Damage of the directory goes to problems();
/// what can be read of it is returned.
result<std::vector<surveyed_root>> list_roots(inspection& heap);

/// After check_all() or check_structure(): whether the roots lie in blocks. What does not is damage, and goes to
/// problems(). O(roots).
void check_roots(inspection& heap, const std::vector<surveyed_root>& roots);

/// True if the type table can be read, and the schema that each root has there be followed. What is not so goes to problems(): it keeps
/// others from looking inside the roots. O(roots and their types).
result<void> check_schemas(inspection& heap, const std::vector<surveyed_root>& roots);

/// After check_all(): as check_roots(), and says of each root what can be said. O(roots · heap) when there is damage, else
/// O(roots).
result<void> survey_roots(inspection& heap, std::vector<surveyed_root>& roots);

} // namespace remanence::inspect
