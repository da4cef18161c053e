// A heap of its own, made of a state of another one.
#pragma once

#include "base/result.hpp"
#include "history/delta.hpp"
#include "inspect/inspection.hpp"
#include "os/file.hpp"

#include <functional>
#include <string>

namespace remanence::detail {

/// Takes over what it is shown; called again, with a later commit perhaps, it reads only what is new.
using copying = std::function<result<void>(inspect::inspection&)>;
/// Shows the last commit of a heap to whoever copies it, until that succeeds, and returns what leads from there to another state.
using shown_commit = std::function<result<history::delta>(const copying&)>;

/// Copies what `show` shows, lets the copy become the state that it leads to, and gives it its name: it is there as a whole, closed and
/// durable, once this returns, or nothing is. errc::exists: there is a file at `path`, or a log; errc::in_use: another one is making it.
/// Fails as `show` does. Throws std::bad_alloc. O(file).
result<void> make_branch(os::file_system& files, const shown_commit& show, const std::string& path);
/// The same, of the last commit of the heap at `from`, which may be open here, while nobody commits.
result<void> make_branch(os::file_system& files, const std::string& from, const history::delta& way,
                         const std::string& path);

} // namespace remanence::detail
