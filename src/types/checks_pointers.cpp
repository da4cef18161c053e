// What remanence::checked and remanence::remanence differ in: each of the two libraries has its own copy of this file, and all
// others in common.
#include "types/part_names.hpp"
#include "types/pointer_check.hpp"

namespace remanence::types {

bool checks_pointers() {
#if defined(REMANENCE_CHECKED) || !defined(NDEBUG)
    link_names_of_parts();
    return true;
#else
    return false;
#endif
}

} // namespace remanence::types
