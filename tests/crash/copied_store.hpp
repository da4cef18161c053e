// The engine on a heap that was made as `rem copy` makes one.
#pragma once

#include "store.hpp"
#include "txn/engine.hpp"

namespace remanence::crash {

/// Where there is no heap yet, makes one of a single commit under another name, and copies it.
open_function copied_engine(const txn::engine_options& options);

} // namespace remanence::crash
