// The layout of packed maps, for use before a map is filled.
#pragma once

#include "objects/object_builder.hpp"

#include <cstdint>
#include <functional>

namespace remanence::objects {

/// True if this schema describes the layout of packed maps that is known here. Precondition: the schema is sound.
[[nodiscard]] bool is_packed_as_here(const types::type_description& schema, const types::type_row& container);
/// Estimates the blocks that a packed map needs. Passes each layout with the number of such blocks.
void for_each_block_of_packed(std::uint64_t records, std::uint64_t bytes,
                              const std::function<void(object_builder::layout, std::uint64_t)>& visit);

} // namespace remanence::objects
