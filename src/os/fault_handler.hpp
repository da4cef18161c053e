// The one fault handler of the process: says which heap a SIGBUS came from before the process dies of it. May use: base.
#pragma once

#include <cstdint>

namespace remanence::os {

/// What lies at a faulting address.
struct fault_place {
    const char* path;     // of the heap
    std::uint64_t offset; // from its base
};

/// Async-signal-safe; false when the address lies in no heap.
using fault_locator = bool (*)(const void* address, fault_place& place);

/// Installs the handler once; a handler that was there before is called afterwards.
void install_fault_handler(fault_locator locate);

} // namespace remanence::os
