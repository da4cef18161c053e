// The process's handler of SIGBUS: says which heap it came from, before the program's own handler gets it or the
// process dies of it.
#pragma once

#include "base/result.hpp"

#include <cstdint>

namespace remanence::os {

/// What lies at a faulting address.
struct fault_place {
    const char* path;     // of the heap
    std::uint64_t offset; // from its base
};

/// Async-signal-safe; false when the address lies in no heap.
using fault_locator = bool (*)(const void* address, fault_place& place);

/// Puts our handler before the one that is there, unless it is ours; that one gets every SIGBUS after ours. To be repeated
/// with each heap, with the same `locate`: the program may have installed another one.
result<void> put_fault_handler_in_front(fault_locator locate);

} // namespace remanence::os
