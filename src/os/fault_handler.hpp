// The process's handler of SIGBUS: says which heap the fault is in, before the program's own handler gets the signal or
// the process dies.
#pragma once

#include "base/result.hpp"

#include <cstdint>

namespace remanence::os {

/// What lies at a faulting address.
struct fault_place {
    const char* path;     // of the heap
    std::uint64_t offset; // from its base
};

/// Async-signal-safe. Returns false if the address lies in no heap.
using fault_locator = bool (*)(const void* address, fault_place& place);

/// Installs our handler in front of the present one, unless that is ours already. The other handler gets every SIGBUS
/// after ours. Call it for each heap, with the same `locate`: the program may have installed another handler since.
result<void> put_fault_handler_in_front(fault_locator locate);

} // namespace remanence::os
