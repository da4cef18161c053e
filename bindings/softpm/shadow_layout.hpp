// Where marks lie, and what they mean. Shared by the compiler pass and the runtime. Depends only on the standard
// library.
//
// Each word of 8 bytes in the whole address space has a byte, its mark, whose address follows from that of the word (as
// in AddressSanitizer). So a shift and a store set a mark, without a branch. Two threads that write different words
// never write the same mark.
#pragma once

#include <cstdint>

namespace remanence::softpm {

#ifdef REMANENCE_SOFTPM_SANITIZED // tests of the runtime: AddressSanitizer uses our usual addresses
inline constexpr std::uint64_t k_shadow_offset = 0x2000'0000'0000;
#else
inline constexpr std::uint64_t k_shadow_offset = 0x7fff'8000;
#endif
inline constexpr std::uint64_t k_shadow_bytes = std::uint64_t{1} << 44U; // for 47 bits of addresses
inline constexpr unsigned k_word_shift = 3;
inline constexpr std::uint64_t k_word_bytes = 8;

/// What a word holds. An integer of unknown origin is marked if it lies in the window, the range of addresses where
/// heaps lie. A persistence point then finds out whether it points at anything.
enum class mark : std::uint8_t {
    data = 0,
    pointer = 1,      ///< stored as a pointer
    from_pointer = 2, ///< an integer that was computed from a pointer
    perhaps = 3,      ///< an integer of unknown origin, in the window
    mutex = 4,        ///< the first word of a lock; the runtime alone sets these
    condition = 5,
    read_write_lock = 6,
};

/// Heaps lie from 0x1000'8000'0000 to 0x2000'0000'0000. An address is in this window if a shift by this number yields
/// 1.
inline constexpr unsigned k_window_shift = 44;
inline constexpr std::uint64_t k_window = 1;

} // namespace remanence::softpm
