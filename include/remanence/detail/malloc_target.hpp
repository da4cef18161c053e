// The interface between the class new_in (new_in.hpp) and libremanence-malloc.so, which replaces malloc(). Depends on
// the standard library only.
#pragma once

#include <cstddef>

namespace remanence::detail {

/// Where a thread's malloc() allocates.
struct malloc_target {
    // Returns null if there is no memory.
    void* (*allocate)(void* heap, std::size_t bytes, std::size_t alignment) noexcept;
    void* heap;
};

/// Functions on blocks that malloc() allocated in heaps. `hold` returns true if the address lies in a heap. The others
/// end the process if no block begins at the address.
struct blocks_of_heaps {
    bool (*hold)(const void* address) noexcept;
    void (*free)(void* block) noexcept;
    void* (*reallocate)(void* block,
                        std::size_t bytes) noexcept; // returns null if there is no memory; the block is then unchanged
    std::size_t (*usable_bytes)(const void* block) noexcept;
};

/// Sets the target of the calling thread's malloc(); null: malloc's own heap. Returns the previous target. `blocks`
/// must stay valid.
using lead_malloc = const malloc_target*(const malloc_target* into, const blocks_of_heaps* blocks) noexcept;
/// The name by which dlsym() finds lead_malloc's function. The number in it changes when these structs change.
inline constexpr const char* k_lead_malloc = "remanence_lead_malloc_1";

} // namespace remanence::detail
