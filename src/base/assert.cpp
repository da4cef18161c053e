#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace remanence {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "remanence: internal error: %s (%s:%d). The heap file is as of its last commit.\n", expression,
                 file, line);
    std::abort();
}

} // namespace remanence
