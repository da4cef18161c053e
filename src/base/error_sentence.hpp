// One general sentence for each error code.
#pragma once

#include <remanence/error.hpp>

namespace remanence {

/// Returns the sentence that error_category() has for the code, as a literal: no string is made.
[[nodiscard]] const char* sentence_of(errc code) noexcept;

} // namespace remanence
