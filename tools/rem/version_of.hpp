#pragma once

#include <remanence/look_back.hpp>

#include <string>

namespace remanence::tool {

/// What a word names: a number is one; anything else is a name.
inspect::version_or_name version_of(const std::string& word);

} // namespace remanence::tool
