// What of a type the portable form cannot tell, since its schema does not say what it consists of.
#pragma once

#include "types/type_description.hpp"

#include <string>
#include <vector>

namespace remanence::inspect {

/// A sentence for each such type, by the path to it: "people[].home->secret is a app::secret, which hides its members". O(rows).
[[nodiscard]] std::vector<std::string> hidden_parts(const types::type_description& schema, const std::string& root);

} // namespace remanence::inspect
