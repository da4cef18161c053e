// The process's handler of SIGBUS: names the heap in which the fault happened. Then the program's own handler gets the
// signal, or the process ends.
#pragma once

#include "base/result.hpp"

#include <cstdint>

namespace remanence::os {

/// What lies at a faulting address.
struct fault_place {
    const char* path;     // path of the heap
    std::uint64_t offset; // offset of the address from the heap's base
};

/// Finds what lies at the address; returns false if no heap does. Must be async-signal-safe.
using fault_locator = bool (*)(const void* address, fault_place& place);

/// Installs our handler in front of the present one, unless ours is the present one. Our handler passes every SIGBUS on
/// to the one that it replaced. Must be called for each heap, with the same `locate`, since the program may have
/// installed another handler meanwhile.
result<void> put_fault_handler_in_front(fault_locator locate);

} // namespace remanence::os
