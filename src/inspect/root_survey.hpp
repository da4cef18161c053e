// Which roots of an inspected heap are whole: for a heap that is damaged in parts. May use: base, format, txn.
//
// What a root reaches is guessed (root_walk.hpp), generously. So a root that is called whole is whole with all that it
// reaches by plain pointers and by our containers' distances. Words that only look like either make the answer too dark,
// never too bright; pointers that are packed, tagged or not aligned are not followed.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::inspect {

enum class root_state {
    whole,          // its object, and everything that it reaches
    object_whole,   // its object; what that reaches cannot be told, since the allocator's structures are damaged
    reaches_damage, // its object is whole, something that it may reach is not
    damaged,        // its object is not, or not even found
};

struct surveyed_root {
    std::string name;
    std::string type;
    std::string structure; // type_description::text(); empty when the heap does not have it
    std::uint64_t object;  // heap offset
    std::uint64_t bytes;
    std::uint64_t fingerprint_hash;
    std::uint32_t fingerprint_algorithm;
    root_state state = root_state::whole;
    std::uint64_t damage_offset = error::k_no_offset; // in the heap file: the first damage met
};

/// The roots by name, as the directory has them, all of them called whole. Damage of the directory goes to problems();
/// what can be read of it is returned.
result<std::vector<surveyed_root>> list_roots(inspect::inspection& heap);

/// After check_all() or check_structure(): whether the roots lie in blocks. What does not is damage, and goes to
/// problems(). O(roots).
void check_roots(inspect::inspection& heap, const std::vector<surveyed_root>& roots);

/// After check_all(): as check_roots(), and says of each root what can be said. O(roots · heap) when there is damage, else
/// O(roots).
result<void> survey_roots(inspect::inspection& heap, std::vector<surveyed_root>& roots);

} // namespace remanence::inspect
