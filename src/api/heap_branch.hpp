// A heap of its own, made of a state of another one.
#pragma once

#include "base/result.hpp"
#include "history/delta.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace remanence::detail {

/// Copies the last commit of the heap at `from`, which may be open for writing, lets the copy become what `way` leads to, and gives it
/// its name: it is there as a whole, closed and durable, once this returns, or nothing is. errc::exists: there is a file at `path`, or a
/// log; errc::in_use: that commit has not the version `last`, if one is given, or: another one is making it. Throws std::bad_alloc. O(file).
result<void> make_branch(os::file_system& files, const std::string& from, const history::delta& way,
                         const std::string& path, std::optional<std::uint64_t> last = {});

} // namespace remanence::detail
