// One general sentence for each error code.
#pragma once

#include <remanence/error.hpp>

namespace remanence {

/// Returns the sentence of error_category() for the code as a literal, without constructing a string.
[[nodiscard]] const char* sentence_of(errc code) noexcept;

} // namespace remanence
