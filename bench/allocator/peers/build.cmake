# Builds libmimalloc3.so and libsnmallocshim.so in FOLDER, from the sources in crates that cargo fetches from the registry:
# cmake -D FOLDER=… -D SOURCE=… -D CARGO=… -D CC=… -D CXX=… -P build.cmake. Says what fails and succeeds all the same: the
# benchmark tells which mallocs it is without.
function(try_to what)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT status EQUAL 0)
        message("The benchmark allocator cannot ${what}:\n${said}")
    endif()
endfunction()

file(MAKE_DIRECTORY "${FOLDER}")
file(COPY "${SOURCE}/Cargo.toml" "${SOURCE}/lib.rs" DESTINATION "${FOLDER}")
try_to("fetch mimalloc 3 and snmalloc" "${CARGO}" vendor --quiet vendor)

# Not by its CMakeLists.txt, whose modules the crate lacks; with its options.
set(mimalloc "${FOLDER}/vendor/libmimalloc-sys/c_src/mimalloc/v3")
if(EXISTS "${mimalloc}")
    try_to(
        "build mimalloc 3"
        "${CC}" -std=gnu11 -O3 -w -DNDEBUG -DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT -fPIC -shared
        -fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc -I "${mimalloc}/include" "${mimalloc}/src/static.c" -pthread -o
        "${FOLDER}/libmimalloc3.so"
    )
endif()

set(snmalloc "${FOLDER}/vendor/snmalloc-sys/upstream")
if(EXISTS "${snmalloc}")
    set(built "${FOLDER}/snmalloc")
    try_to(
        "configure snmalloc"
        "${CMAKE_COMMAND}" -S "${snmalloc}" -B "${built}" -D CMAKE_BUILD_TYPE=Release -D SNMALLOC_BUILD_TESTING=OFF -D
        "CMAKE_C_COMPILER=${CC}" -D "CMAKE_CXX_COMPILER=${CXX}"
    )
    try_to("build snmalloc" "${CMAKE_COMMAND}" --build "${built}" --target snmallocshim)
    if(EXISTS "${built}/libsnmallocshim.so")
        file(COPY "${built}/libsnmallocshim.so" DESTINATION "${FOLDER}")
    endif()
endif()
