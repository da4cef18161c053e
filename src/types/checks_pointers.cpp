// The libraries remanence::checked and remanence::remanence differ only in this file: it is compiled once for each.
#include "types/pointer_check.hpp"
#include "types/schema_reader.hpp"

namespace remanence::types {

const schema_reader* checks_pointers() {
#if defined(REMANENCE_CHECKED) || !defined(NDEBUG)
    return &k_schema_reader;
#else
    return nullptr;
#endif
}

} // namespace remanence::types
