// The engine as a store of the crash tests.
#pragma once

#include "store.hpp"
#include "txn/engine.hpp"

namespace remanence::crash {

/// Small chunks and a fixed base, so that heaps are small and the same each time.
txn::engine_options small_heap_options();

/// With `declared`, all is done in declared sections: changes are announced, and commits look for no others.
enum class sections { ordinary, declared };
open_function engine(txn::engine_options options = small_heap_options(), sections kind = sections::ordinary);

} // namespace remanence::crash
