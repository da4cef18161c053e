// Makes the roots of a dump (docs/reference/dump.md) in an open heap. The dump is input (I7).
#pragma once

#include "base/result.hpp"
#include "objects/buffered_input.hpp"
#include "txn/heap_memory.hpp"

#include <remanence/types/detail/key_functions.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace remanence::objects {

/// Adds the roots of a dump, in the portable form or the binary one, and their schemas; returns the number of roots.
/// The caller holds the write lock, and rolls back after a failure. `types`: types of the program; a root of such a
/// name is made as that type. All others are made by the dump's schema, with this platform's layout. `dropped`:
/// row_matching::drop().
/// errc::exists if the heap has such a root; errc::invalid_argument, with the line, if it is no dump or incomplete;
/// errc::not_supported for a type that cannot be made without the program; errc::exhausted. O(dump); memory for the
/// lines of one root, and for each pointer.
result<std::size_t> load_dump(txn::heap_memory& memory, const read_bytes& read,
                              std::span<const detail::type_to_load> types, const std::vector<std::string>& dropped);

} // namespace remanence::objects
