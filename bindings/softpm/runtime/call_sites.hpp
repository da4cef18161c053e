// Call sites of the program that allocate, each with the container in which it allocates. Once a point has copied
// blocks of a call site into a container, as its guests, later calls from there allocate in that container. This is
// useful, and takes time, only while there are several containers. Depends on arena.
//
//   S1  A call site is learned once: if several containers reach its blocks, it stays with the first. It is forgotten
//       when that container ends.
//   S2  The call site of each block is recorded in a table of fixed size, in which later blocks replace earlier ones.
//       That suffices, because new guests of a point were allocated recently. A call site that was replaced is not
//       learned.
#pragma once

#include "arena.hpp"

#include <atomic>
#include <cstdint>

namespace remanence::softpm {

/// True if there are several containers, so that call sites matter.
[[nodiscard]] bool has_call_sites() noexcept;
void set_has_call_sites(bool has) noexcept;

/// Returns the arena in which this call site allocates; null if none was learned.
[[nodiscard]] arena* arena_of_call_site(std::uintptr_t call_site) noexcept;
/// Records the call site of a block. Must be called in a critical section.
void note_call_site(const void* block, std::uintptr_t call_site) noexcept;
/// Learns the call site of a block that has become a guest of this arena's container. All other threads must be
/// stopped.
void learn_call_site_of(const void* block, arena& of) noexcept;
/// Forgets the call sites of an arena. All other threads must be stopped, or this must be the last one that uses the
/// arena.
void forget_call_sites_of(const arena& of) noexcept;

} // namespace remanence::softpm
