// The layout of packed maps, before one is filled.
#pragma once

#include "objects/object_builder.hpp"

#include <cstdint>
#include <functional>

namespace remanence::objects {

/// True if a packed map of this row is laid out as it is here. Precondition: the schema is sound.
[[nodiscard]] bool is_packed_as_here(const types::type_description& schema, const types::type_row& container);
/// Passes approximately the blocks that a packed map takes: their layout, and how many there are.
void for_each_block_of_packed(std::uint64_t records, std::uint64_t bytes,
                              const std::function<void(object_builder::layout, std::uint64_t)>& visit);

} // namespace remanence::objects
