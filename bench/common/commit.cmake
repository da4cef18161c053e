# Writes the commit that is being built to COMMIT_HEADER, if it is another one than before: cmake -P commit.cmake.
cmake_minimum_required(VERSION 3.25)
execute_process(
    COMMAND git describe --always --dirty --abbrev=8 --exclude=*
    WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET
)
if(NOT commit)
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${COMMIT_HEADER}" CONTENT "#define BENCH_COMMIT \"@commit@\"\n" @ONLY)
