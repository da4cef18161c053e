// Assertions, for our own bugs only: never on bytes from a file, never on what the environment did.
#pragma once

namespace remanence {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
} // namespace remanence

/// Our bug that could damage a file: always on.
#define REM_CHECK(expression)                                                                                          \
    (static_cast<bool>(expression) ? void(0) : ::remanence::assertion_failed(#expression, __FILE__, __LINE__))

/// Our bug: debug builds only.
#ifdef NDEBUG
#define REM_ASSERT(expression) (void(sizeof(static_cast<bool>(expression))))
#else
#define REM_ASSERT(expression) REM_CHECK(expression)
#endif
