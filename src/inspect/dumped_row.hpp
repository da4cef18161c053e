// Writes the types of a schema as a dump shows them (docs/reference/dump.md, "Types").
#pragma once

#include "types/type_description.hpp"

#include <cstdint>
#include <string>

namespace remanence::inspect {

/// Appends the JSON of one row.
void put_dumped_row(std::string& out, const types::type_description& schema, std::uint32_t row);

} // namespace remanence::inspect
