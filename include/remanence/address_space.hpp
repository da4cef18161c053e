// Finds free addresses, for programs that choose where their heaps are mapped. Depends on the standard library only.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <cstdint>

namespace remanence {

/// The end at which the search begins, within the addresses that heaps may have: 4 GiB to 64 TiB.
enum class address_end {
    low, ///< the lowest addresses first
    high ///< the highest addresses first
};

/// Returns the lowest or the highest address with `bytes` of free address space behind it in this process: a multiple
/// of 1 GiB, for memory_options::base. Reserves nothing: the place is free until something is mapped there. Errors:
/// errc::exhausted when there is none; errc::invalid_argument for 0 bytes. O(mappings of the process).
[[nodiscard]] std::uintptr_t find_address_space(std::uint64_t bytes, address_end from);

} // namespace remanence
