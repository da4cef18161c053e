# Install rules: headers, both libraries, documents, and the files for find_package and pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/remanence")

install(TARGETS remanence remanence_checked EXPORT remanence-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/remanence" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h"
)
install(EXPORT remanence-targets NAMESPACE remanence:: DESTINATION "${package_dir}")

# Same layout as in the repository, so that links between documents work.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")

install(FILES "${PROJECT_SOURCE_DIR}/docs/remanence.3" DESTINATION "${CMAKE_INSTALL_MANDIR}/man3")

# For programs that do not contain the printers of the library (docs/guide/debugging.md).
install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/remanence.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/remanence/gdb")

configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/remanence-config.cmake.in" "${PROJECT_BINARY_DIR}/remanence-config.cmake"
    INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_LIBDIR
)
# Before 1.0 a minor release may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/remanence-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/remanence-config.cmake" "${PROJECT_BINARY_DIR}/remanence-config-version.cmake"
        DESTINATION "${package_dir}"
)

# Relative to the .pc file, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE libdir)
cmake_path(SET pkgconfig_dir NORMALIZE "/${libdir}/pkgconfig")
string(REGEX REPLACE "/[^/]+" "/.." up "${pkgconfig_dir}")
set(prefix_from_pc "\${pcfiledir}${up}")
foreach(package IN ITEMS remanence remanence-checked)
    string(REPLACE - _ library ${package})
    configure_file("${CMAKE_CURRENT_LIST_DIR}/remanence.pc.in" "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
