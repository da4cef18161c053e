// Finds the parts of a type that the portable form cannot express, because the schema does not describe them.
#pragma once

#include "types/type_description.hpp"

#include <string>
#include <vector>

namespace remanence::inspect {

/// Returns a sentence for each such type, with the path to it: "people[].home->secret is a app::secret, which hides its
/// members". O(rows).
[[nodiscard]] std::vector<std::string> hidden_parts(const types::type_description& schema, const std::string& root);

} // namespace remanence::inspect
