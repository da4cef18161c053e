// One call, given on the compiler's command line; see CMakeLists.txt.
#include "os/file.hpp"

#ifndef CALL
#define CALL file.sync("test")
#endif

remanence::result<void> call(remanence::os::file& file, const char* text);
remanence::result<void> call(remanence::os::file& file, [[maybe_unused]] const char* text) { return CALL; }
