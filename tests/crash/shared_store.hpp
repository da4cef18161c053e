// Two engines that share a heap, as two processes would, as one store of the crash tests: they commit in turn, one holds versions in
// sections over the other's checkpoints, and one dies before it has made its commit known.
#pragma once

#include "store.hpp"
#include "txn/engine.hpp"

namespace remanence::crash {

open_function shared_engines(txn::engine_options options);

} // namespace remanence::crash
