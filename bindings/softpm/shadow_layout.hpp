// The places of marks, and their meanings. Shared by the compiler pass and the runtime; depends on the standard library
// only.
//
// Each word of 8 bytes in the whole address space has one byte, its mark, at a fixed distance (as in AddressSanitizer).
// So a shift and a store set a mark: no branch is needed, and two threads that write different words never write the
// same mark.
#pragma once

#include <cstdint>

namespace remanence::softpm {

#ifdef REMANENCE_SOFTPM_SANITIZED // for the runtime's tests: AddressSanitizer keeps its own bytes where ours are
inline constexpr std::uint64_t k_shadow_offset = 0x2000'0000'0000;
#else
inline constexpr std::uint64_t k_shadow_offset = 0x7fff'8000;
#endif
inline constexpr std::uint64_t k_shadow_bytes = std::uint64_t{1} << 44U; // of 47 bits of addresses
inline constexpr unsigned k_word_shift = 3;
inline constexpr std::uint64_t k_word_bytes = 8;

/// What a word holds. An integer of unknown origin is marked if it lies in the window of addresses where heaps lie. A
/// persistence point finds out if it leads anywhere.
enum class mark : std::uint8_t {
    data = 0,
    pointer = 1,      ///< stored as a pointer
    from_pointer = 2, ///< an integer that was computed from a pointer
    perhaps = 3,      ///< an integer of unknown origin, in the window
    mutex = 4,        ///< the first word of a lock; the runtime alone sets these
    condition = 5,
    read_write_lock = 6,
};

/// An address is in the window if a shift by this number yields 1: heaps lie from 0x1000'8000'0000 to 0x2000'0000'0000.
inline constexpr unsigned k_window_shift = 44;
inline constexpr std::uint64_t k_window = 1;

} // namespace remanence::softpm
