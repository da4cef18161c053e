// Makes a heap from a state of another heap.
#pragma once

#include "base/result.hpp"
#include "history/delta.hpp"
#include "inspect/inspection.hpp"
#include "os/file.hpp"

#include <functional>
#include <string>

namespace remanence::detail {

/// Copies this commit of a heap. If it is called again, with a later commit, it copies only the pages that have
/// changed.
using copying = std::function<result<void>(inspect::inspection&)>;
/// Calls `copying` with the last commit of a heap, again and again until it succeeds. Returns the delta that leads from
/// that commit to the state of the branch.
using shown_commit = std::function<result<history::delta>(const copying&)>;

/// Copies the commit that `show` passes on, and applies to the copy the delta that `show` returns. Once this returns,
/// the new heap is at `path`, complete, closed and durable. After a failure or crash, `path` does not exist.
/// errc::exists: there is a file or a log at `path`; errc::in_use: another process is making that branch; otherwise the
/// errors of `show`. Throws std::bad_alloc. O(file).
result<void> make_branch(os::file_system& files, const shown_commit& show, const std::string& path);
/// Does the same with the last commit of the heap at `from` and the delta `way`. This process may have the heap open,
/// but no commit may run during the call.
result<void> make_branch(os::file_system& files, const std::string& from, const history::delta& way,
                         const std::string& path);

} // namespace remanence::detail
