// The one place where a failure becomes an exception.
#pragma once

#include "base/result.hpp"

#include <remanence/error.hpp>

#include <string>

namespace remanence::detail {

/// Throws the public exception for a failure.
[[noreturn]] void raise(const failure& why);
[[noreturn]] void raise(errc code, const std::string& message, const std::string& path = {});

inline void check(result<void> done) {
    if (!done)
        raise(done.why());
}

} // namespace remanence::detail
