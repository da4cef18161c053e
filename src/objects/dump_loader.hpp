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

/// Adds the roots of a dump, of the portable form or the binary one, and their schemas; returns their number. With the write lock held; when it fails, the caller rolls back. `types`: those of the
/// program, of which roots are made by their names; all others are made by the dump's schema, as this platform would have them.
/// errc::exists: the heap has such a root; errc::invalid_argument, with the line, for what is no dump, or is not whole;
/// `dropped`: row_matching::drop(). errc::not_supported for a type that cannot be made without the program; errc::exhausted. O(dump); memory for the lines of a root,
/// and for each pointer.
result<std::size_t> load_dump(txn::heap_memory& memory, const read_bytes& read,
                              std::span<const detail::type_to_load> types, const std::vector<std::string>& dropped);

} // namespace remanence::objects
