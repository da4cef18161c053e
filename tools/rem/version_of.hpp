#pragma once

#include <remanence/look_back.hpp>

#include <string>

namespace remanence::tool {

/// True if a word consists of digits.
bool is_number(const std::string& word);
/// Returns the version that a word names in the history of this heap. A number names the version with that number,
/// unless a version is kept under that name. Any other word is a name. Throws errc::invalid_argument if both exist and
/// differ.
inspect::version_or_name version_of(const std::string& file, const std::string& word);

} // namespace remanence::tool
