#!/usr/bin/env python3
"""Does what docs/guide/building.md says, with the code blocks of that page, and runs a program that was built so.

usage: package_test.py WAY DIRECTORY CMAKE_ARGUMENT...

WAY is find_package, pkg_config, find_package_c, pkg_config_c (all see an installed copy only, whose prefix is in CMAKE_PREFIX_PATH or PKG_CONFIG_PATH),
from_source (FetchContent and add_subdirectory in turn, in one build directory, so that the library is compiled once) or
two_files (what scripts/amalgamate makes). Everything is made in DIRECTORY, which is kept. The environment variable RELEASE_IS says what a library that was installed for Release
configurations does: "checked" when the build under test has no NDEBUG, else "unchecked".
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROJECT = "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\n"
# Of ours, a project gets the library and nothing else.
NOTHING_ELSE = """
foreach(target IN ITEMS test_support unit_log address_book_demo rem)
    if(TARGET ${target})
        message(FATAL_ERROR "the project got ${target}, too")
    endif()
endforeach()
get_target_property(options remanence::remanence INTERFACE_COMPILE_OPTIONS)
get_target_property(definitions remanence::remanence INTERFACE_COMPILE_DEFINITIONS)
if(options OR definitions OR DEFINED BUILD_TESTING OR NOT "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" STREQUAL "")
    message(FATAL_ERROR "forced on the project: ${options} ${definitions}")
endif()
"""
WHICH_LIBRARY = 'file(GENERATE OUTPUT "$<CONFIG>.txt" CONTENT "$<TARGET_FILE_NAME:remanence::remanence>")\n'


def block(heading):
    """The first code block below a heading of the page."""
    page = (ROOT / "docs/guide/building.md").read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}\n(?:(?!#)[^\n]*\n)*?```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"building.md has no code block below {heading}")
    return found[1]


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True, **options)


def configure(folder, cmake_lists, *arguments):
    (folder / "CMakeLists.txt").write_text(PROJECT + cmake_lists, encoding="utf-8")
    shutil.copy(HERE / "consumer.cpp", folder / "main.cpp")
    run("cmake", "-S", folder, "-B", folder / "build", *arguments)


def compile_as_shown(heading, folder):
    compiler = f"{os.environ['CXX']} {os.environ['CXXFLAGS']} "
    run("sh", "-euc", block(heading).replace("g++ ", compiler), cwd=folder)


def find_package(folder, arguments):
    configure(folder, block("find_package") + WHICH_LIBRARY, "-G", "Ninja Multi-Config", *arguments)
    for configuration in "Debug", "Release", "RelWithDebInfo":
        linked = (folder / f"build/{configuration}.txt").read_text(encoding="utf-8")
        wanted = "libremanence_checked.a" if configuration == "Debug" else "libremanence.a"
        if linked != wanted:
            raise SystemExit(f"{configuration} links {linked}")
    run("cmake", "--build", folder / "build", "--config", "Debug")
    run(folder / "build/Debug/program", "checked", cwd=folder)


def pkg_config(folder, _):
    shutil.copy(HERE / "consumer.cpp", folder / "main.cpp")
    compile_as_shown("pkg-config", folder)
    run(folder / "program", os.environ["RELEASE_IS"], cwd=folder)


def find_package_c(folder, arguments):
    (folder / "CMakeLists.txt").write_text(PROJECT.replace("CXX", "C") + block("C programs"), encoding="utf-8")
    shutil.copy(HERE / "consumer.c", folder / "main.c")
    run("cmake", "-S", folder, "-B", folder / "build", *arguments)
    run("cmake", "--build", folder / "build")
    run(folder / "build/program", cwd=folder)


def pkg_config_c(folder, _):
    shutil.copy(HERE / "consumer.c", folder / "main.c")
    command = block("C programs without CMake").replace("gcc ", f"{os.environ['CC']} {os.environ['CFLAGS']} ")
    run("sh", "-euc", command, cwd=folder)
    run(folder / "program", cwd=folder)


def from_source(folder, arguments):
    source = folder / "remanence"
    source.unlink(missing_ok=True)
    source.symlink_to(ROOT)
    configure(folder, block("FetchContent") + NOTHING_ELSE, f"-DFETCHCONTENT_SOURCE_DIR_REMANENCE={source}", *arguments)
    run("cmake", "--build", folder / "build")
    run(folder / "build/program", "checked", cwd=folder)  # for it was built without NDEBUG
    installed = folder / "installed"
    run("cmake", "--install", folder / "build", "--prefix", installed)
    if installed.exists():
        raise SystemExit("the project installs the library, too")

    # The same commands, if its objects lie at the same place.
    here = block("add_subdirectory").replace("add_subdirectory(remanence)", "add_subdirectory(remanence _deps/remanence-build)")
    configure(folder, here + NOTHING_ELSE, *arguments)
    run("cmake", "--build", folder / "build")
    run(folder / "build/program", "checked", cwd=folder)


def two_files(folder, _):
    run(ROOT / "scripts/amalgamate", folder)
    program = (HERE / "consumer.cpp").read_text(encoding="utf-8")
    (folder / "main.cpp").write_text(program.replace("<remanence/remanence.hpp>", '"remanence.hpp"'), encoding="utf-8")
    compile_as_shown("Two files", folder)
    run(folder / "program", "checked", cwd=folder)  # for it was compiled without NDEBUG
    section = ".debug_gdb_scripts"
    run("objcopy", "-O", "binary", "-j", section, "--set-section-flags", f"{section}=alloc", folder / "program", folder / "script")
    if (folder / "script").read_bytes().partition(b"\n")[2] != (ROOT / "tools/gdb/remanence.py").read_bytes() + b"\0":
        raise SystemExit("the program has another script for gdb than the library")
    other = shutil.which("clang++-19")
    if other and "clang" not in os.environ["CXX"]:
        run(other, "-std=c++20", "-fsyntax-only", "-Wall", "-Wno-deprecated-declarations", "-Werror", folder / "remanence.cpp")


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    ways = {
        "find_package": find_package,
        "find_package_c": find_package_c,
        "from_source": from_source,
        "pkg_config": pkg_config,
        "pkg_config_c": pkg_config_c,
        "two_files": two_files,
    }
    ways[sys.argv[1]](folder, sys.argv[3:])


if __name__ == "__main__":
    main()
