// Adds the rows of one schema to another, so that objects of both can be visited by one schema.
#pragma once

#include "types/type_description.hpp"

#include <cstdint>
#include <vector>

namespace remanence::objects {

/// Adds the rows that `into` lacks. Rows that describe the same type become one, so that a place in the heap has one row
/// for each type. Returns, for each row of `added`, its row in `into`. The root stays.
std::vector<std::uint32_t> join_schema(types::type_description& into, const types::type_description& added);

} // namespace remanence::objects
