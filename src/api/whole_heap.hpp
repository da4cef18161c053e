// A heap that is made under another name, and renamed once it is complete, closed and durable.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace remanence::detail {

/// Calls `make`, which makes a heap at the path that it gets, PATH and `suffix`, and closes it. Then renames that heap to
/// `path`. So a crash leaves only files that the next call removes. No other code may give such names to heaps. Durable
/// once this returns; after a failure, `path` does not exist. errc::exists: there is a file or a log at `path`;
/// errc::in_use: another process is making that heap; otherwise the errors of `make`.
result<void> make_whole_heap(os::file_system& files, const std::string& path, std::string_view suffix,
                             const std::function<result<void>(const std::string& building)>& make);
/// As make_whole_heap(), but the new heap takes the place of the heap at `path`, which the caller has locked and which has
/// no log. After a failure the old heap is there; if the sync of the directory failed, the new one may be.
result<void> replace_whole_heap(os::file_system& files, const std::string& path, std::string_view suffix,
                                const std::function<result<void>(const std::string& building)>& make);

} // namespace remanence::detail
