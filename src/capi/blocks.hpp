// What the functions for blocks have in common.
#pragma once

#include "capi/guard.hpp"
#include "capi/handles.hpp"

#include <cstddef>

namespace remanence::capi {

/// Returns the alignment that an object of this size may need. A small object needs less than the largest alignment.
inline std::size_t usual_alignment(std::size_t size) {
    return size < alignof(std::max_align_t) ? alignof(void*) : alignof(std::max_align_t);
}

/// Throws errc::invalid_argument if no block of the volatile heap begins at the address.
inline void check_begins_block(const volatile_face& memory, const void* address) {
    if (!memory.begins_block(address))
        refuse_argument("no block of the volatile heap begins at the address: it was freed before, lies inside of a "
                        "block, or was never allocated.");
}

} // namespace remanence::capi
