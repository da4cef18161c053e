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

/// Makes the roots of a dump in the portable or the binary form, and stores their schemas. Returns the number of roots.
/// The caller holds the write lock, and must roll back after a failure. `types` are types of the program: a root whose
/// type has the name of one of these is made as that type. All other roots are made by the dump's schema, with this
/// platform's layout. `dropped` has the meaning of row_matching::drop().
/// errc::exists if the heap has a root of that name; errc::invalid_argument, with the line, if the input is not a dump
/// or is incomplete; errc::not_supported for a type that cannot be made without the program; errc::exhausted. O(dump);
/// memory for the lines of one root, and for each pointer.
result<std::size_t> load_dump(txn::heap_memory& memory, const read_bytes& read,
                              std::span<const detail::type_to_load> types, const std::vector<std::string>& dropped);

} // namespace remanence::objects
