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

/// Reserves the addresses of the marks: 16 TiB, of which only marked parts take memory. Ends the process with a message
/// if the addresses are not free. Later calls do nothing.
void map_shadow();

/// True if memory is mapped there that is not for marks.
bool is_mapped(std::uintptr_t address);

/// M2 of the pass: copies the marks of bytes that are about to be copied. If the words of source and target are not
///    aligned alike, nothing stays marked.
void copy_marks(void* to, const void* from, std::size_t bytes);
/// Clears the mark of every word with a byte in the range. Gives memory back if the range is large.
void clear_marks(const void* begin, std::size_t bytes);

} // namespace remanence::softpm
