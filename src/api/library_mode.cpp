// Symbols that every program with the library has. A program compiled for another mode of the standard library asks for
// other symbols, which do not exist: see detail/abi.hpp. Also the printers for gdb, of which a stripped program keeps
// nothing.

#include <remanence/detail/abi.hpp>

#if defined(_GLIBCXX_DEBUG)
const char remanence_library_built_with_GLIBCXX_DEBUG = 0;
#elif defined(__GLIBCXX__)
const char remanence_library_built_without_GLIBCXX_DEBUG = 0;
#endif

#if defined(REMANENCE_GDB_SCRIPT)
// An entry of kind 4: a script, whose first line is its name. No loaded section contains its bytes.
asm(".pushsection \".debug_gdb_scripts\", \"MS\",@progbits,1\n"
    ".byte 4\n"
    ".ascii \"gdb.inlined-script.remanence\\n\"\n"
    ".incbin \"" REMANENCE_GDB_SCRIPT "\"\n"
    ".byte 0\n"
    ".popsection\n");
#endif
