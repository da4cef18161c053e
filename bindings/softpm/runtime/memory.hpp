// All arenas of the process, and the arena in which the program allocates now. Depends on arena.
#pragma once

#include "arena.hpp"

#include <atomic>

namespace remanence::softpm {

/// Returns the arena for memory that ends with the process, in which the program allocates before it has a container.
/// The first call makes it. Ends the process with a message if there are no addresses for that.
arena& volatile_arena();

/// Returns the arena (the volatile one, or that of a container) that contains this address; null if none does.
/// O(containers).
arena* arena_of(std::uintptr_t address) noexcept;
/// True if the address lay in an arena that has ended. Blocks that remain from there must not be passed to the C
/// library.
bool was_in_arena(std::uintptr_t address) noexcept;

/// Returns the arena in which the program allocates now: the last one added that has not ended.
arena& current_arena() noexcept;
/// Adds an arena. Throws std::length_error if there are too many.
void add_arena(arena& of);
void remove_arena(arena& of) noexcept;

/// A function of a program that manages memory itself (pRegisterAllocator). It finds the block that contains an
/// address. Registering it throws std::length_error if there are too many.
using finder = int (*)(const void* address, void** begin, std::size_t* bytes);
void add_finder(finder find);
/// Returns the block that one of these functions finds for this address; block::begin is null if there is none.
[[nodiscard]] block block_of_program(std::uintptr_t address) noexcept;

inline constexpr unsigned k_arenas_max = 64;
inline constexpr unsigned k_finders_max = 16;

} // namespace remanence::softpm
