// All arenas of the process, and which one the program allocates in. Depends on arena.
#pragma once

#include "arena.hpp"

#include <atomic>

namespace remanence::softpm {

/// Memory that ends with the process: where the program allocates before it has a container. Made with the first call; ends the process,
/// with a message, if it has no addresses.
arena& volatile_arena();

/// The arena with this address, volatile or of a container; null: none. O(containers).
arena* arena_of(std::uintptr_t address) noexcept;
/// True if an arena had this address that is gone: what is left of it is not to be given to the C library.
bool was_in_arena(std::uintptr_t address) noexcept;

/// Where the program allocates from now on: in the arena added last that is still there.
arena& current_arena() noexcept;
/// Throws std::length_error when there are too many.
void add_arena(arena& of);
void remove_arena(arena& of) noexcept;

/// A program's own memory management (pRegisterAllocator): tells the block that has an address. Throws std::length_error when there are too many.
using finder = int (*)(const void* address, void** begin, std::size_t* bytes);
void add_finder(finder find);
/// The block of one of these with this address; none.
[[nodiscard]] block block_of_program(std::uintptr_t address) noexcept;

inline constexpr unsigned k_arenas_max = 64;
inline constexpr unsigned k_finders_max = 16;

} // namespace remanence::softpm
