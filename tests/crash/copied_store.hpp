// The engine on a heap that was made as `rem copy` makes one.
#pragma once

#include "os/file.hpp"
#include "store.hpp"
#include "store/heap_copy.hpp"
#include "txn/engine.hpp"

#include <string>

namespace remanence::crash {

/// As `rem copy` and `rem copy --force` do it.
result<void> copy_heap(os::file_system& files, const std::string& from, const std::string& to,
                       remanence::store::existing there = remanence::store::existing::refused);

/// Where there is no heap yet, makes one of a single commit under another name, and copies it.
open_function copied_engine(const txn::engine_options& options);
/// The same, and then that heap with another commit, over the copy.
open_function replaced_engine(const txn::engine_options& options);

} // namespace remanence::crash
