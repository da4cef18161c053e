#pragma once

#include <remanence/look_back.hpp>

#include <string>

namespace remanence::tool {

/// True if a word is a number.
bool is_number(const std::string& word);
/// What a word names in the history of this heap: a number is one, unless a version is kept by that name; anything else is a name. Throws
/// errc::invalid_argument where both are there, and are two versions.
inspect::version_or_name version_of(const std::string& file, const std::string& word);

} // namespace remanence::tool
