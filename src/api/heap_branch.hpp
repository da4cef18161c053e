// Makes a heap from a state of another heap.
#pragma once

#include "base/result.hpp"
#include "history/delta.hpp"
#include "inspect/inspection.hpp"
#include "os/file.hpp"

#include <functional>
#include <string>

namespace remanence::detail {

/// Copies the heap that it is shown. It may be called again with a later commit, and then reads only changed pages.
using copying = std::function<result<void>(inspect::inspection&)>;
/// Shows the last commit of a heap to `copying` until that succeeds. Returns the delta from that commit to another
/// state.
using shown_commit = std::function<result<history::delta>(const copying&)>;

/// Copies the heap that `show` shows, and changes the copy to the other state. Once this returns, the heap is at
/// `path`, complete, closed and durable; after a failure or crash nothing is there. errc::exists: there is a file or a
/// log at `path`; errc::in_use: another process is making it. Returns the errors of `show`. Throws std::bad_alloc.
/// O(file).
result<void> make_branch(os::file_system& files, const shown_commit& show, const std::string& path);
/// Does the same with the last commit of the heap at `from`, which may be open here. No commit may run meanwhile.
result<void> make_branch(os::file_system& files, const std::string& from, const history::delta& way,
                         const std::string& path);

} // namespace remanence::detail
