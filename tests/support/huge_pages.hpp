// Programs whose writes are to be the same each time.
#pragma once

#include <sys/prctl.h>

namespace remanence::test {

/// The kernel gives this process, and those that it starts, no huge pages. The first write to one makes 2 MiB the process's own; so what
/// counts as written, and is spilled, would follow from how much memory other processes have left in one piece.
inline void refuse_huge_pages() { ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

} // namespace remanence::test
