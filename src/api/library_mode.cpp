// What a program that is compiled for another mode of the standard library does not find: see detail/abi.hpp.

#include <remanence/detail/abi.hpp>

#if defined(_GLIBCXX_DEBUG)
const char remanence_library_built_with_GLIBCXX_DEBUG = 0;
#elif defined(__GLIBCXX__)
const char remanence_library_built_without_GLIBCXX_DEBUG = 0;
#endif
