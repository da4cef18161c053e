#pragma once

#include <remanence/look_back.hpp>

#include <string>

namespace remanence::tool {

/// True if a word is a number.
bool is_number(const std::string& word);
/// Returns the version that a word names in the history of this heap. A number is a version, unless a version is kept
/// by that name; any other word is a name. Throws errc::invalid_argument if both exist and are different versions.
inspect::version_or_name version_of(const std::string& file, const std::string& word);

} // namespace remanence::tool
