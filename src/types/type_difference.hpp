// Compares the type that a root was stored as with the type that a program asks for.
#pragma once

#include "types/type_description.hpp"

#include <optional>
#include <string>

namespace remanence::types {

struct type_difference {
    std::string what;        // for example "member 3 of address was \"int zip\", is \"rem::string zip\""
    bool only_names = false; // only names of members differ, and all lie at the same places: they may have been renamed
};

/// Returns nothing if no difference is found. Of several differences, returns the one that a programmer would look for:
/// types and names of members before the places and sizes that follow from them, and differences near the root before
/// those far from it. If a member has the former name of another member, it does not count as renamed: the two may have
/// changed places. O(size of both descriptions).
std::optional<type_difference> difference_between(const type_description& was, const type_description& is);

} // namespace remanence::types
