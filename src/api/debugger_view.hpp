// The part of an open heap that tools/gdb/remanence.py reads. A program seldom has debug information about the library,
// so the script relies on the place of these members: at the beginning of the object that a handle points to.
#pragma once

#include <cstddef>

namespace remanence::detail {

struct debugger_view {
    const char* file_name;
    const std::byte* first_byte;
};
static_assert(offsetof(debugger_view, file_name) == 0 && offsetof(debugger_view, first_byte) == 8);

} // namespace remanence::detail
