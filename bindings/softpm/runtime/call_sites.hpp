// Places in the program that allocate, and the container in which each of them does: where blocks of a place have become guests of a container, it
// allocates there from then on. Matters, and costs, only while there are several containers. Depends on arena.
//
//   S1  A place is learned once: one whose blocks several containers reach stays with the first. It is forgotten when its container ends.
//   S2  Places of blocks are remembered in a table of fixed size, in which later blocks replace earlier ones: what a point meets as new
//       guests was allocated lately. A place that it does not know is not learned.
#pragma once

#include "arena.hpp"

#include <atomic>
#include <cstdint>

namespace remanence::softpm {

/// True if there are several containers.
[[nodiscard]] bool has_call_sites() noexcept;
void set_has_call_sites(bool has) noexcept;

/// Where blocks go that are allocated there; null: nothing was learned.
[[nodiscard]] arena* arena_of_call_site(std::uintptr_t call_site) noexcept;
/// In a critical section.
void note_call_site(const void* block, std::uintptr_t call_site) noexcept;
/// The block has become a guest of the container with this arena. While the world stands.
void learn_call_site_of(const void* block, arena& of) noexcept;
/// While the world stands, or as the last one to use the arena.
void forget_call_sites_of(const arena& of) noexcept;

} // namespace remanence::softpm
