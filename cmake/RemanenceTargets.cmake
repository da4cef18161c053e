# Functions for the few kinds of targets of this project.
include_guard()

# Adds a layer of the library, from the *.cpp of its folder. It may include files of its own folder and of the named
# layers, and nothing else of src/: tests/layering reads this call.
#   remanence_add_layer(log USES base format os store)
# SMALL names sources (patterns) that no commit, allocation or trap runs: they are compiled for size. Most of their code
# is error texts, which would be a large part of the library in a program.
# PER_LIBRARY names sources that differ between remanence and remanence_checked: each library compiles them itself.
# PARTS names sources that a program contains only if it names something of them (txn/parts.hpp). They are never
# compiled together with others, as all other sources are with REMANENCE_UNITY.
function(remanence_add_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;SMALL;PER_LIBRARY;PARTS")
    if(REMANENCE_UNITY)
        set_source_files_properties(${arg_PARTS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    set(target remanence_${name})
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
    foreach(source IN LISTS arg_PER_LIBRARY)
        list(REMOVE_ITEM sources "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
        target_sources(remanence PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
        target_sources(remanence_checked PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    endforeach()
    set(small_sources)
    foreach(pattern IN LISTS arg_SMALL)
        file(GLOB small CONFIGURE_DEPENDS ${pattern})
        if(NOT small)
            message(WARNING "The layer ${name} has no ${pattern}")
        endif()
        list(APPEND small_sources ${small})
    endforeach()
    list(REMOVE_ITEM small_sources "")
    # Otherwise both libraries would contain it, and the link order would decide.
    foreach(source IN LISTS arg_PER_LIBRARY)
        list(REMOVE_ITEM small_sources "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    endforeach()
    if(CMAKE_BUILD_TYPE STREQUAL "Release" AND small_sources)
        list(REMOVE_ITEM sources ${small_sources})
    else()
        set(small_sources)
    endif()

    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(${target} INTERFACE Threads::Threads)
    foreach(below IN LISTS arg_USES)
        target_link_libraries(${target} INTERFACE remanence_${below})
    endforeach()
    # docs/decisions/footprint.md. These three layers hash, compare and count bytes; there -O3 makes a difference.
    if(name MATCHES "^(base|alloc|view)$")
        remanence_add_objects(${target} "" ${sources})
    else()
        remanence_add_objects(${target} $<$<CONFIG:Release>:-O2> ${sources})
    endif()
    remanence_add_objects(${target} -Os ${small_sources})
endfunction()

# Adds the sources of a layer that are compiled alike, with one more option; both libraries contain the objects.
function(remanence_add_objects layer option)
    if(NOT ARGN)
        return()
    endif()
    set(kind objects)
    if(option STREQUAL "-Os")
        set(kind small_objects)
    endif()
    set(target ${layer}_${kind})
    add_library(${target} OBJECT ${ARGN})
    target_link_libraries(${target} PRIVATE ${layer} remanence_build_options)
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections ${option})
    if(REMANENCE_UNITY)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 9)
    endif()
    # Counters guide the fuzzer. Hooks in comparisons would double the time, and the targets' mutators know the
    # important numbers.
    if(REMANENCE_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls)
    endif()
    target_sources(remanence PRIVATE $<TARGET_OBJECTS:${target}>)
    target_sources(remanence_checked PRIVATE $<TARGET_OBJECTS:${target}>)
    if(PROJECT_IS_TOP_LEVEL) # the first precompiled header of each kind serves all layers
        set(headers base)
        if(target MATCHES "_c?api_small_objects$")
            set(headers api)
        endif()
        get_property(first GLOBAL PROPERTY REMANENCE_FIRST_${headers}_${kind})
        if(first)
            target_precompile_headers(${target} REUSE_FROM ${first})
        else()
            set_property(GLOBAL PROPERTY REMANENCE_FIRST_${headers}_${kind} ${target})
            target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/${headers}/precompiled.hpp")
        endif()
    endif()
endfunction()

# Adds a GoogleTest program and its ctest entries: one per test; under a sanitizer four shares of them, because each
# process takes a tenth of a second to start. A library test sees the internals.
#   remanence_add_tests(NAME unit_log SOURCES a_test.cpp… [LABELS crash…] [LIBRARIES …])
# Suites whose names end with _threads get the label threads (run under the thread sanitizer); those that end with
# _no_sanitizer get the label no-sanitizer. The same holds for all tests of files named *_threads_test.cpp and
# *_no_sanitizer_test.cpp, which become programs of their own. Sources not named *_test.cpp are helpers, and belong to
# each of the programs.
function(remanence_add_tests)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" NAME "SOURCES;LABELS;LIBRARIES")
    set(helpers ${arg_SOURCES})
    list(FILTER helpers EXCLUDE REGEX "_test\\.cpp$")
    foreach(kind IN ITEMS threads no_sanitizer)
        set(of_kind ${arg_SOURCES})
        list(FILTER of_kind INCLUDE REGEX "_${kind}_test\\.cpp$")
        if(of_kind)
            list(REMOVE_ITEM arg_SOURCES ${of_kind})
            string(REPLACE _ - label ${kind})
            remanence_add_test_program(${arg_NAME}_${kind} "${of_kind};${helpers}" "${arg_LIBRARIES}" ${arg_LABELS} ${label})
        endif()
    endforeach()
    set(tests ${arg_SOURCES})
    list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
    if(tests) # there are not only helpers
        remanence_add_test_program(${arg_NAME} "${arg_SOURCES}" "${arg_LIBRARIES}" ${arg_LABELS})
    endif()
endfunction()

# Sets how test programs, and the programs that they run, are compiled: without optimization, since they are compiled
# much more often than they run; except those that compute much. One precompiled header, with remanence.hpp, serves all
# that are compiled alike.
function(remanence_compile_as_test)
    foreach(target IN LISTS ARGN)
        set(level -O0)
        if(target MATCHES "^(conformance|crash|crash_harness|damage|fuzz_.*|golden|unit_share|unit_view|workload_program)$"
           AND NOT target STREQUAL "fuzz_guests"
        )
            set(level -O1)
        endif()
        set(headers test_headers${level})
        if(NOT TARGET ${headers})
            add_library(${headers} OBJECT "${PROJECT_SOURCE_DIR}/tests/precompiled.cpp")
            remanence_set_test_options(${headers} ${level})
            target_link_libraries(${headers} PRIVATE remanence GTest::gtest)
            target_precompile_headers(${headers} PRIVATE "${PROJECT_SOURCE_DIR}/tests/precompiled.hpp")
        endif()
        remanence_set_test_options(${target} ${level})
        target_precompile_headers(${target} REUSE_FROM ${headers})
    endforeach()
endfunction()

function(remanence_set_test_options target level)
    target_compile_options(${target} PRIVATE ${level})
    if(CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
        target_compile_options(${target} PRIVATE -g0) # line numbers take a seventh of the time
    endif()
    target_link_libraries(${target} PRIVATE remanence_build_options)
    target_compile_definitions(${target} PRIVATE GTEST_HAS_PTHREAD=1) # as in all code that includes GoogleTest
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "EXECUTABLE") # compiled like programs, otherwise the header does not fit
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_compile_options(${target} PRIVATE -fPIE)
    endif()
endfunction()

function(remanence_add_test_program target sources libraries)
    add_executable(${target} ${sources})
    remanence_compile_as_test(${target})
    target_link_libraries(${target} PRIVATE ${libraries} test_support GTest::gtest_main rapidcheck rapidcheck_gtest)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")
    if(target MATCHES "^(conformance|unit_objects)$") # otherwise this takes minutes on one core
        set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 4)
    elseif(target STREQUAL "unit_types")
        set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 12)
    endif()
    if(REMANENCE_ALL_TESTS)
        target_compile_definitions(${target} PRIVATE REMANENCE_ALL_TESTS)
    endif()
    # The thread sanitizer runs only tests with threads: those in programs of their own, see remanence_add_tests. Tests
    # that no sanitizer runs are in such programs, too. `make test` uses the address sanitizer for code that manages
    # memory by hand, and for code that reads bytes of files.
    if((REMANENCE_TSAN_BASES AND NOT target MATCHES "_threads$")
       OR (CMAKE_CXX_FLAGS MATCHES "-fsanitize=" AND target MATCHES "_no_sanitizer$")
       OR (CMAKE_CXX_FLAGS MATCHES "-fsanitize=address" AND NOT REMANENCE_ALL_TESTS
           AND NOT target MATCHES "^(unit_(alloc|capi|history|log|place|recover|track|types|view|volatile)|compat|crash|damage|faults)$")
    )
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
        set(shares 4)
        set(quarters 1)
        # These take minutes: `make test` selects a quarter, by name.
        if(target MATCHES "^(crash|faults|unit_(alloc|history|types|view))$")
            set(shares 16)
            set(quarters 4)
        endif()
        math(EXPR last "${shares} - 1")
        foreach(share RANGE ${last})
            math(EXPR quarter "${share} % ${quarters}")
            set(test ${target}.quarter_${quarter}.share_${share})
            if(quarters EQUAL 1)
                set(test ${target}.share_${share})
            endif()
            add_test(NAME ${test} COMMAND ${target} --gtest_brief=1 --gtest_filter=-*_no_sanitizer.*:*_no_sanitizer/*)
            set(environment "GTEST_TOTAL_SHARDS=${shares};GTEST_SHARD_INDEX=${share}")
            set_tests_properties(${test} PROPERTIES LABELS "${ARGN}" ENVIRONMENT "${environment}")
        endforeach()
        return()
    endif()
    # Tests are listed when ctest runs, not when building: a program that cannot start must not stop the build of the
    # others.
    gtest_discover_tests(
        ${target}
        TEST_PREFIX "${target}."
        TEST_LIST ${target}_tests
        DISCOVERY_MODE PRE_TEST
        DISCOVERY_TIMEOUT 3600
    )
    # gtest_discover_tests cannot pass a list of labels, so ctest reads them from here, after the names.
    set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
    file(CONFIGURE OUTPUT "${labels_file}" @ONLY CONTENT
         [[
foreach(test IN LISTS @target@_tests)
    set(labels "@ARGN@")
    if(test MATCHES "_threads(/[^.]*)?[.][^.]*$")
        list(APPEND labels threads)
    elseif(test MATCHES "_no_sanitizer(/[^.]*)?[.][^.]*$")
        list(APPEND labels no-sanitizer)
    endif()
    # These take long, so they should not start last.
    if(test MATCHES "notices_every_step|are_reported_and_lose_nothing|killed_hundreds_of_times")
        set_tests_properties("${test}" PROPERTIES COST 90)
    endif()
    # Of the errors of system calls, `make test` tries EIO each time, and one other. Of the steps that are left out, it
    # tries a share. It runs random walks with this machine's tracker, and with one that other machines have.
    if(test MATCHES "notices_every_step_that_is_left_out/([0-3])( |$)")
        list(APPEND labels quarter_${CMAKE_MATCH_1})
    endif()
    set(quarter 0)
    foreach(repeated IN ITEMS ENOSPC_once EINTR_once short_once EDQUOT_once)
        if(test MATCHES "are_reported_and_lose_nothing_that_was_acknowledged/${repeated}( |$)")
            list(APPEND labels quarter_${quarter})
        endif()
        math(EXPR quarter "${quarter} + 1")
    endforeach()
    if(test MATCHES "give_back_each_byte_.*/trap( |$)")
        list(APPEND labels quarter_2)
    elseif(test MATCHES "give_back_each_byte_.*/fallback( |$)")
        list(APPEND labels quarter_3)
    endif()
    list(REMOVE_DUPLICATES labels)
    set_tests_properties("${test}" PROPERTIES LABELS "${labels}")
endforeach()
]]
    )
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
endfunction()

# Adds a program of examples/, built into bin: it sees only what a user sees.
function(remanence_add_example name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE remanence::remanence remanence_build_options)
endfunction()

# Adds a benchmark: target bench_<name>, program bench/<name>, built on request.
function(remanence_add_bench name)
    add_executable(bench_${name} EXCLUDE_FROM_ALL ${ARGN})
    target_link_libraries(bench_${name} PRIVATE remanence_internal remanence_build_options)
    set_target_properties(
        bench_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench"
    )
endfunction()

# Adds a system that benchmark <bench> compares with, if its library is installed: BENCH_<NAME> and <name>.cpp.
function(remanence_add_peer bench name header library)
    string(TOUPPER ${name} upper)
    find_path(BENCH_${upper}_INCLUDE ${header})
    find_library(BENCH_${upper}_LIBRARY ${library})
    mark_as_advanced(BENCH_${upper}_INCLUDE BENCH_${upper}_LIBRARY)
    if(NOT BENCH_${upper}_INCLUDE OR NOT BENCH_${upper}_LIBRARY)
        message(STATUS "The benchmark ${bench} is without ${name}: ${header} or its library is not installed")
        return()
    endif()
    target_sources(bench_${bench} PRIVATE ${name}.cpp)
    target_compile_definitions(bench_${bench} PRIVATE BENCH_${upper})
    target_include_directories(bench_${bench} SYSTEM PRIVATE "${BENCH_${upper}_INCLUDE}")
    target_link_libraries(bench_${bench} PRIVATE "${BENCH_${upper}_LIBRARY}")
endfunction()

# Conformance tests of containers that are not ours take a sanitizer long. It sees little of them, because to it a heap
# is one mapping.
set(REMANENCE_OTHERS_CONTAINERS "/conformance/(boost_[a-z]+|adaptors|associative|sequences)_test\\.cpp$")

# Tests that run only with REMANENCE_ALL_TESTS.
set(REMANENCE_LONG_TESTS "/conformance/boost_[a-z]+_test\\.cpp$")

# Every .cpp under tests/ must belong to a target; otherwise it would look like a test and never run.
function(remanence_require_all_tests_registered)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*.cpp")
    list(FILTER found EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/tests/(debug_modes|footprint|functions|gdb|package|fuzz|persistable|softpm|virtual)/")
    # The sources that tests/CMakeLists.txt leaves out.
    if(NOT REMANENCE_BOOST_INCLUDE)
        list(FILTER found EXCLUDE REGEX "/boost_[a-z]+_test\\.cpp$")
    endif()
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
        list(FILTER found EXCLUDE REGEX "${REMANENCE_OTHERS_CONTAINERS}")
    endif()
    if(NOT REMANENCE_ALL_TESTS)
        list(FILTER found EXCLUDE REGEX "${REMANENCE_LONG_TESTS}")
    endif()
    remanence_sources_below("${PROJECT_SOURCE_DIR}/tests" registered)
    if(registered)
        list(REMOVE_ITEM found ${registered})
    endif()
    if(found)
        list(JOIN found "\n  " lines)
        message(FATAL_ERROR "No target compiles these; see tests/CMakeLists.txt:\n  ${lines}")
    endif()
endfunction()

function(remanence_sources_below directory result)
    get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
    get_property(subdirectories DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
    set(all "")
    foreach(target IN LISTS targets)
        get_target_property(sources ${target} SOURCES)
        get_target_property(source_dir ${target} SOURCE_DIR)
        foreach(source IN LISTS sources)
            cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${source_dir}" NORMALIZE)
            list(APPEND all "${source}")
        endforeach()
    endforeach()
    foreach(subdirectory IN LISTS subdirectories)
        remanence_sources_below("${subdirectory}" below)
        list(APPEND all ${below})
    endforeach()
    set(${result} "${all}" PARENT_SCOPE)
endfunction()
