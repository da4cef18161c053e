// What every program with the library has, since it asks for it. What one that is compiled for another mode of the standard library
// does not find: see detail/abi.hpp. And gdb's printers, of which a program that is stripped keeps nothing.

#include <remanence/detail/abi.hpp>

#if defined(_GLIBCXX_DEBUG)
const char remanence_library_built_with_GLIBCXX_DEBUG = 0;
#elif defined(__GLIBCXX__)
const char remanence_library_built_without_GLIBCXX_DEBUG = 0;
#endif

#if defined(REMANENCE_GDB_SCRIPT)
// An entry of kind 4: a script, whose first line is its name. Its bytes belong to no section that is loaded.
asm(".pushsection \".debug_gdb_scripts\", \"MS\",@progbits,1\n"
    ".byte 4\n"
    ".ascii \"gdb.inlined-script.remanence\\n\"\n"
    ".incbin \"" REMANENCE_GDB_SCRIPT "\"\n"
    ".byte 0\n"
    ".popsection\n");
#endif
