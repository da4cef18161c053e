// Assertions, for our own bugs only: never for bytes from a file or for failures of the environment.
#pragma once

namespace remanence {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
} // namespace remanence

/// Checks for our bugs that could damage a file. Always on.
#define REM_CHECK(expression)                                                                                          \
    (static_cast<bool>(expression) ? void(0) : ::remanence::assertion_failed(#expression, __FILE__, __LINE__))

/// Checks for our other bugs. On in debug builds only.
#ifdef NDEBUG
#define REM_ASSERT(expression) (void(sizeof(static_cast<bool>(expression))))
#else
#define REM_ASSERT(expression) REM_CHECK(expression)
#endif
