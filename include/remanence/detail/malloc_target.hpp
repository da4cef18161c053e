// What new_in and libremanence-malloc.so say to each other. Depends on the standard library only.
#pragma once

#include <cstddef>

namespace remanence::detail {

/// Where a thread's malloc() leads.
struct malloc_target {
    void* (*allocate)(void* heap, std::size_t bytes, std::size_t alignment) noexcept; // null: there is no memory
    void* heap;
};

/// Blocks that malloc() gave out of heaps. All but `hold` end the process when no block begins at the address.
struct blocks_of_heaps {
    bool (*hold)(const void* address) noexcept;
    void (*free)(void* block) noexcept;
    void* (*reallocate)(void* block,
                        std::size_t bytes) noexcept; // null: there is no memory, and the block is as it was
    std::size_t (*usable_bytes)(const void* block) noexcept;
};

/// Of the calling thread, from now on; null: malloc's own heap. Gives what was before. `blocks` stays.
using lead_malloc = const malloc_target*(const malloc_target* into, const blocks_of_heaps* blocks) noexcept;
/// The name by which dlsym() finds it; another number when these structs change.
inline constexpr const char* k_lead_malloc = "remanence_lead_malloc_1";

} // namespace remanence::detail
