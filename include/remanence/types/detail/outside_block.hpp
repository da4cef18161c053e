// Memory from operator new, for allocators that belong to no heap. A mark stands in front of each block. By this mark a
// commit distinguishes a pointer to the block from any other word, and an allocator recognises its own blocks. Depends
// on the standard library only.
//
//        | … | mark (8 bytes) | the block …
//          ^ what operator new gave; as aligned as the block
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

namespace remanence::detail {

/// Returns the mark of a live block at this address.
[[nodiscard]] constexpr std::uint64_t outside_mark_of(std::uint64_t address) noexcept {
    return address ^ 0x9e3c'71b5'd8a4'260f;
}
inline constexpr std::size_t k_outside_mark_bytes = sizeof(std::uint64_t);

[[nodiscard]] constexpr std::size_t outside_prefix_bytes(std::size_t alignment) noexcept {
    return std::max<std::size_t>(alignment, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
static_assert(outside_prefix_bytes(1) >= k_outside_mark_bytes);

[[nodiscard]] inline volatile std::uint64_t& outside_mark_before(void* block) noexcept {
    return *static_cast<volatile std::uint64_t*>(
        static_cast<void*>(static_cast<std::byte*>(block) - k_outside_mark_bytes));
}

/// Ends the process with a message: the block was not allocated by allocate_outside().
[[noreturn]] void refuse_foreign_block(const void* block, std::size_t bytes) noexcept;

/// Allocates a block. Throws std::bad_alloc. `bytes` must be below half of the address space.
[[nodiscard]] inline void* allocate_outside(std::size_t bytes, std::size_t alignment) {
    const std::size_t prefix = outside_prefix_bytes(alignment);
    void* const whole = alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__
                            ? ::operator new(bytes + prefix, std::align_val_t(alignment))
                            : ::operator new(bytes + prefix);
    void* const block = static_cast<std::byte*>(whole) + prefix;
    outside_mark_before(block) = outside_mark_of(reinterpret_cast<std::uintptr_t>(block));
    return block;
}
/// Frees a block of allocate_outside(), with the same `bytes` and `alignment`.
inline void deallocate_outside(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    volatile std::uint64_t& mark = outside_mark_before(block);
    if (mark != outside_mark_of(reinterpret_cast<std::uintptr_t>(block))) [[unlikely]]
        refuse_foreign_block(block, bytes);
    mark = 0; // a word with this address no longer counts as a pointer
    const std::size_t prefix = outside_prefix_bytes(alignment);
    void* const whole = static_cast<std::byte*>(block) - prefix;
    if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        ::operator delete(whole, bytes + prefix, std::align_val_t(alignment));
    } else {
        ::operator delete(whole, bytes + prefix);
    }
}

} // namespace remanence::detail
