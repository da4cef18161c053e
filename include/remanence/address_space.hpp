// Free addresses, for programs that say themselves where their heaps lie. Depends on the standard library only.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <cstdint>

namespace remanence {

/// From which end of the addresses that heaps may have, 4 GiB to 64 TiB.
enum class address_end { low, high };

/// Returns the lowest or the highest place where so many bytes of addresses are free in this process: a multiple of 1 GiB, as
/// memory_options::base is. Nothing is reserved: the place is free until something is mapped there. Throws errc::exhausted when there is
/// none, errc::invalid_argument for 0 bytes. O(mappings of the process).
[[nodiscard]] std::uintptr_t find_address_space(std::uint64_t bytes, address_end from);

} // namespace remanence
