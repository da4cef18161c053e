// Call sites in the program that allocate, and the container in which each of them does. Once blocks of a call site
// have become guests of a container, the call site allocates in that container. This matters, and takes time, only
// while there are several containers. Depends on arena.
//
//   S1  A call site is learned once: if several containers reach its blocks, it stays with the first. It is forgotten
//       when its container ends.
//   S2  The call sites of blocks are noted in a table of fixed size, in which later blocks replace earlier ones: new
//       guests at a point were allocated recently. A call site that is no longer in the table is not learned.
#pragma once

#include "arena.hpp"

#include <atomic>
#include <cstdint>

namespace remanence::softpm {

/// True if there are several containers.
[[nodiscard]] bool has_call_sites() noexcept;
void set_has_call_sites(bool has) noexcept;

/// Returns the arena where this call site allocates; null if nothing was learned.
[[nodiscard]] arena* arena_of_call_site(std::uintptr_t call_site) noexcept;
/// Notes the call site of a block. To be called in a critical section.
void note_call_site(const void* block, std::uintptr_t call_site) noexcept;
/// The block has become a guest of the container with this arena. All other threads are stopped.
void learn_call_site_of(const void* block, arena& of) noexcept;
/// Forgets the call sites of an arena. All other threads are stopped, or this is the last one that uses the arena.
void forget_call_sites_of(const arena& of) noexcept;

} // namespace remanence::softpm
