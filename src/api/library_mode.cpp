// Symbols that every program with the library defines. A program compiled for another mode of the standard library
// refers to other symbols, so it does not link (detail/abi.hpp). Also the printers for gdb; stripping a program removes
// them.

#include <remanence/detail/abi.hpp>

#if defined(_GLIBCXX_DEBUG)
const char remanence_library_built_with_GLIBCXX_DEBUG = 0;
#elif defined(__GLIBCXX__)
const char remanence_library_built_without_GLIBCXX_DEBUG = 0;
#endif

#if defined(REMANENCE_GDB_SCRIPT)
// A gdb script entry of kind 4: the text of a script, whose first line is the script's name. It is not loaded into
// memory. The text, and not the name of a file: gdb would find that only below /usr, and it might not match the library.
asm(".pushsection \".debug_gdb_scripts\", \"MS\",@progbits,1\n"
    ".byte 4\n"
    ".ascii \"gdb.inlined-script.remanence\\n\"\n"
    ".incbin \"" REMANENCE_GDB_SCRIPT "\"\n"
    ".byte 0\n"
    ".popsection\n");
#endif
