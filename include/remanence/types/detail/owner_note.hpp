// What an allocator keeps: whose memory it hands out, and where it lies itself. Depends on the standard library only.
#pragma once

#include <cstdint>

namespace remanence::detail {

/// The start of every heap, in its own memory (src/format). Allocators point at it, never at anything outside (I6).
struct heap_header;

// An allocator keeps its *owner*: the address of its heap's header, or null. Headers lie at multiples of 1 GiB, so the owner
// has room for a note, which is 0 in an allocator that lies in its own heap. No other one is meant to be stored.
//
//   1        it lies in another heap, and is noted there: that heap must not be committed once it has memory.
//   even     it lies in no heap. The state that its heap was in when it was made: a rollback or a close begins another one. Blocks
//            that it had before may belong to others by then, so it frees none any more.

inline constexpr std::uintptr_t k_owner_note_bits = (std::uintptr_t{1} << 30) - 1;
inline constexpr std::uintptr_t k_lies_in_other_heap = 1;

[[nodiscard]] inline std::uintptr_t note_of(const heap_header* owner) noexcept {
    return reinterpret_cast<std::uintptr_t>(owner) & k_owner_note_bits;
}
[[nodiscard]] inline heap_header* header_of_owner(heap_header* owner) noexcept {
    return reinterpret_cast<heap_header*>(reinterpret_cast<std::uintptr_t>(owner) & ~k_owner_note_bits);
}
/// Whether the heap that an allocator with this owner lies in, if it lies in one, must know of it.
[[nodiscard]] inline bool is_strange(const heap_header* owner) noexcept {
    return owner == nullptr || (note_of(owner) & k_lies_in_other_heap) != 0;
}
/// Whether both are in the same GiB, of which no two heaps have a part.
[[nodiscard]] constexpr bool are_near(std::uintptr_t a, std::uintptr_t b) noexcept {
    return (a ^ b) <= k_owner_note_bits;
}

} // namespace remanence::detail
