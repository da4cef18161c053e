// Reads and writes marks. Depends on shadow_layout.hpp and the operating system.
#pragma once

#include "shadow_layout.hpp"

#include <cstddef>
#include <cstdint>

namespace remanence::softpm {

inline std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

template <class T = std::byte>
T* pointer_to(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
}

inline std::uint8_t* marks_at(std::uintptr_t address) {
    return pointer_to<std::uint8_t>((address >> k_word_shift) + k_shadow_offset);
}
inline std::uint8_t* marks_at(const void* word) { return marks_at(address_of(word)); }

inline void set_mark(const void* word, mark value) { *marks_at(word) = static_cast<std::uint8_t>(value); }

inline bool is_in_window(std::uintptr_t address) { return address >> k_window_shift == k_window; }

/// Reserves the addresses of the marks: 16 TiB, of which only parts with marks use memory. Ends the process with a
/// message if the addresses are not free. Later calls do nothing.
void map_shadow();

/// True if memory is mapped at this address, other than that of marks.
bool is_mapped(std::uintptr_t address);

/// Copies the marks of bytes that will be copied next (M2 of the pass). If the words of source and target are not
/// aligned alike, clears the target's marks.
void copy_marks(void* to, const void* from, std::size_t bytes);
/// Clears the mark of each word that has a byte in the range. If the range is large, gives the memory of its marks
/// back.
void clear_marks(const void* begin, std::size_t bytes);

} // namespace remanence::softpm
