# Install rules: headers, library, and what find_package and pkg-config need.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/remanence")

install(TARGETS remanence EXPORT remanence-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/remanence" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h"
)
install(EXPORT remanence-targets NAMESPACE remanence:: DESTINATION "${package_dir}")

configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/remanence-config.cmake.in" "${PROJECT_BINARY_DIR}/remanence-config.cmake"
    INSTALL_DESTINATION "${package_dir}"
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
configure_file("${CMAKE_CURRENT_LIST_DIR}/remanence.pc.in" "${PROJECT_BINARY_DIR}/remanence.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/remanence.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
