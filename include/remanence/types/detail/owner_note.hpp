// What an allocator stores: the heap whose memory it allocates, and a note about its own place. Depends on the standard
// library only.
#pragma once

#include <cstdint>

namespace remanence::detail {

/// The start of every heap, in its own memory (src/format). Allocators point at it, never at anything outside of the
/// heap (I6).
struct heap_header;

// An allocator stores its *owner*: the address of its heap's header, or null. Headers lie at multiples of 1 GiB, so the
// low bits of the owner have room for a note. The note is 0 in an allocator that lies in its own heap; only such an
// allocator is meant to be stored.
//
//   1      The allocator lies in another heap, which has recorded it: that heap must not be committed once the
//          allocator has memory.
//   even   The allocator lies in no heap. The note is the number of the state that its heap had when the allocator was
//          made; a rollback or a close begins another state. Blocks from an earlier state may belong to others, so the
//          allocator no longer frees them.

inline constexpr std::uintptr_t k_owner_note_bits = (std::uintptr_t{1} << 30) - 1;
inline constexpr std::uintptr_t k_lies_in_other_heap = 1;

[[nodiscard]] inline std::uintptr_t note_of(const heap_header* owner) noexcept {
    return reinterpret_cast<std::uintptr_t>(owner) & k_owner_note_bits;
}
[[nodiscard]] inline heap_header* header_of_owner(heap_header* owner) noexcept {
    return reinterpret_cast<heap_header*>(reinterpret_cast<std::uintptr_t>(owner) & ~k_owner_note_bits);
}
/// True if the owner is null or another heap: a heap in which such an allocator lies must record it.
[[nodiscard]] inline bool is_strange(const heap_header* owner) noexcept {
    return owner == nullptr || (note_of(owner) & k_lies_in_other_heap) != 0;
}
/// True if both addresses lie in the same GiB, and so perhaps in the same heap: no GiB belongs to two heaps.
[[nodiscard]] constexpr bool are_near(std::uintptr_t a, std::uintptr_t b) noexcept {
    return (a ^ b) <= k_owner_note_bits;
}

} // namespace remanence::detail
