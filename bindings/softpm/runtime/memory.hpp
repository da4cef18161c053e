// All arenas of the process, and the one in which the program allocates. Depends on arena.
#pragma once

#include "arena.hpp"

#include <atomic>

namespace remanence::softpm {

/// Returns the arena of memory that ends with the process: the program allocates there before it has a container. Made
/// by the first call. Ends the process with a message if there are no addresses for it.
arena& volatile_arena();

/// Returns the arena, volatile or of a container, that contains this address; null if none does. O(containers).
arena* arena_of(std::uintptr_t address) noexcept;
/// True if the address was in an arena that is gone: the C library must not get blocks that remain from it.
bool was_in_arena(std::uintptr_t address) noexcept;

/// Returns the arena in which the program allocates now: the one added last that still exists.
arena& current_arena() noexcept;
/// Adds an arena. Throws std::length_error if there are too many.
void add_arena(arena& of);
void remove_arena(arena& of) noexcept;

/// A program's own memory management (pRegisterAllocator): finds the block that contains an address. Throws
/// std::length_error if there are too many.
using finder = int (*)(const void* address, void** begin, std::size_t* bytes);
void add_finder(finder find);
/// Returns the block of one of these that contains this address; nothing if there is none.
[[nodiscard]] block block_of_program(std::uintptr_t address) noexcept;

inline constexpr unsigned k_arenas_max = 64;
inline constexpr unsigned k_finders_max = 16;

} // namespace remanence::softpm
