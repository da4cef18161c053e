// The engine on a heap that was made as `rem copy` makes one.
#pragma once

#include "os/file.hpp"
#include "store.hpp"
#include "txn/engine.hpp"

#include <memory>
#include <string>

namespace remanence::crash {

/// As `rem copy` does it; the first, up to where the copy is whole, but has not its name yet.
result<std::unique_ptr<os::file>> copy_heap_to_new(os::file_system& files, const std::string& from,
                                                   const std::string& to);
result<void> copy_heap(os::file_system& files, const std::string& from, const std::string& to);

/// Where there is no heap yet, makes one of a single commit under another name, and copies it.
open_function copied_engine(const txn::engine_options& options);

} // namespace remanence::crash
