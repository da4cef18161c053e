"""A program and a library that were compiled for different debug modes of libstdc++ are not linked, and the linker says why;
assertions alone may differ.

usage: debug_modes_test.py LIBRARY TAG_SOURCE PROGRAM_SOURCE COMMAND...   (the compiler and its options)
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

PLAIN = "remanence_library_built_without_GLIBCXX_DEBUG"
DEBUG = "remanence_library_built_with_GLIBCXX_DEBUG"


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def must(*command):
    done = run(*command)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def compiled(command, where, name, *options):
    must(*command, *options, "-c", "-o", where / name)
    return where / name


def refusals(said):
    """What the linker misses."""
    return {line.split("undefined reference to")[1].strip(" `'") for line in said.splitlines() if "undefined ref" in line}


def main():
    library, tag_source, source, *command = sys.argv[1:]
    wrong = []

    def link(program, with_library, where):
        return run(*command, program, with_library, "-pthread", "-Wl,--gc-sections", "-o", where / "program")

    def must_be_refused(what, program, with_library, where, name):
        done = link(program, with_library, where)
        if done.returncode == 0 or name not in refusals(done.stderr):
            wrong.append(f"{what} was linked, or {name} was not named:\n{done.stderr}")

    with tempfile.TemporaryDirectory() as name:
        where = pathlib.Path(name)
        plain = compiled([*command, source], where, "plain.o")
        careful = compiled([*command, source], where, "careful.o", "-D_GLIBCXX_ASSERTIONS")
        debug = compiled([*command, source], where, "debug.o", "-D_GLIBCXX_DEBUG")
        must_be_refused("a debug program with a plain library", debug, library, where, DEBUG)
        # A library in debug mode, as far as the linker is concerned.
        other = where / "libother.a"
        shutil.copy(library, other)
        members = must("ar", "t", other).split()
        must("ar", "d", other, *[member for member in members if "library_mode" in member])
        must("ar", "r", other, compiled([*command, tag_source], where, "library_mode.o", "-D_GLIBCXX_DEBUG"))
        must_be_refused("a plain program with a debug library", plain, other, where, PLAIN)
        must_be_refused("a program with assertions, and a debug library", careful, other, where, PLAIN)
        for expected, program in enumerate([plain, careful, plain, careful], 1):
            done = link(program, library, where)
            said = run(where / "program", where / "heap")
            if done.returncode or said.returncode or said.stdout != f"{expected}\n":
                wrong.append(f"{program.name} says {said.stdout!r} in run {expected}, status {said.returncode}\n{done.stderr}{said.stderr}")
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
