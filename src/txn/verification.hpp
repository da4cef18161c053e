// Checks image, log and allocator of an open heap.
#pragma once

#include "base/result.hpp"
#include "store/heap_file.hpp"
#include "store/heap_verification.hpp"
#include "txn/engine_options.hpp"
#include "txn/heap_memory.hpp"
#include "txn/session.hpp"

#include <cstdint>
#include <vector>

namespace remanence::txn {

struct verification {
    std::uint64_t pages_checked = 0;
    std::uint64_t log_records_checked = 0;
    std::uint64_t blocks_checked = 0;
    std::vector<store::damage> problems;
};

/// Reads everything and changes nothing. Callers hold at_store, and have carried out any checkpoint under way.
result<verification> verify(store::heap_file& store, session& commits, const heap_memory& memory,
                            const engine_options& options);

} // namespace remanence::txn
