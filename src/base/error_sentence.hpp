// One general sentence for each error code.
#pragma once

#include <remanence/error.hpp>

namespace remanence {

/// What error_category() says of the code, without making a string: a literal.
[[nodiscard]] const char* sentence_of(errc code) noexcept;

} // namespace remanence
