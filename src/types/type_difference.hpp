// What differs between the type that a root was stored as and the one that a program asks for.
#pragma once

#include "types/type_description.hpp"

#include <optional>
#include <string>

namespace remanence::types {

struct type_difference {
    std::string what;        // for example "member 3 of address was \"int zip\", is \"rem::string zip\""
    bool only_names = false; // of members, all of which lie where they lay: they may have been renamed
};

/// Nothing when no difference is found. Of several the one that a programmer would look for: types and names of members before
/// the places and sizes that follow from them, and near the root before far from it. A member that has the former name of
/// another one is no renamed one: they may have changed places. O(both).
std::optional<type_difference> difference_between(const type_description& was, const type_description& is);

} // namespace remanence::types
