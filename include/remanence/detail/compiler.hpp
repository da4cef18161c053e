// Requirements on the compiler. Included before anything else, so that these messages are the first that a user reads.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "Remanence needs C++20: compile with -std=c++20, or set CMAKE_CXX_STANDARD to 20."
#elif !defined(__cpp_exceptions)
#error "Remanence reports errors by exceptions: compile without -fno-exceptions."
#elif !defined(__cpp_rtti)
#error "Remanence compares the types of roots by their names: compile without -fno-rtti."
#endif
