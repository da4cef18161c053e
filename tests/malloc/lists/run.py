"""Runs another project's tests with libremanence-malloc.so and without: run.py PROJECT LIBRARY SOURCES FOLDER CC CXX.

lists.tsv names the tests. Each that has no reason beside it must be found, compile, run and pass with the library. The same tests run with the C
library's malloc, the long ones only where they failed, so that a failure tells whose it is. SOURCES keeps the sources of Debian packages, which scripts/get_sources fetches; FOLDER
keeps what is compiled of them. `make test NAME=malloc` installs what this needs.
"""

import fnmatch
import importlib
import os
import pathlib
import resource
import subprocess
import sys


HERE = pathlib.Path(__file__).resolve().parent
PROJECTS = ("glibc", "mimalloc", "jemalloc", "cpython", "redis")
LINES_SHOWN = 30


def table(project):
    """Returns {name or pattern: reason} of a project; what must pass has no reason."""
    found = {}
    for line in (HERE / "lists.tsv").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        owner, name, *reason = line.split("\t")
        if owner not in PROJECTS or len(reason) > 1 or name in found and owner == project:
            raise SystemExit(f"lists.tsv: this line is wrong, or there twice: {line}")
        if owner == project:
            found[name] = reason[0] if reason else ""
    return found


def environment(library):
    """Returns the variables of a test; without a library, those of the comparison."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD"))}
    return found | {"LC_ALL": "C"} | ({"LD_PRELOAD": library} if library else {})


def check_that_it_is_loaded(library):
    """The loader only warns of a library that it cannot load, and all tests would pass without it."""
    maps = subprocess.run(["/bin/cat", "/proc/self/maps"], env=environment(library), capture_output=True, text=True, check=True).stdout
    if os.path.realpath(library) not in maps:
        raise SystemExit(f"{library} is not loaded by LD_PRELOAD")


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(project, library, sources, folder, *compilers):
    if project not in PROJECTS:
        raise SystemExit(f"the projects are {', '.join(PROJECTS)}")
    library, sources, folder = (os.path.abspath(each) for each in (library, sources, folder))  # each test has a folder of its own
    check_that_it_is_loaded(library)
    listed = table(project)
    wanted = [name for name, reason in listed.items() if not reason]
    suite = importlib.import_module(project).Suite(pathlib.Path(sources), pathlib.Path(folder, project), *compilers)
    errors = [f"{name}: {error}" for name, error in suite.prepare(wanted).items()]
    known = suite.known(listed)
    errors += [f"{name}: has no line in lists.tsv" for name in known if not any(fnmatch.fnmatchcase(name, each) for each in listed)]
    errors += [f"{name}: lists.tsv names it, and the sources do not have it" for name in listed if not fnmatch.filter(known, name)]
    preparing = processor_seconds()

    ours = suite.run(wanted, environment(library))
    ours_took = processor_seconds() - preparing
    is_long = {name for name in wanted for pattern in suite.long_tests if fnmatch.fnmatchcase(name, pattern)}
    compared = [name for name in wanted if name not in is_long or name in ours and not ours[name].passed]
    usual = suite.run(compared, environment(None))
    usual_took = processor_seconds() - preparing - ours_took

    passed = 0
    for name in wanted:
        if name not in ours:
            errors.append(f"{name}: did not run")
            continue
        passed += ours[name].passed
        others = "passes" if name not in usual or usual[name].passed else "fails"
        if not ours[name].passed:
            last = "\n".join("    " + line for line in ours[name].output.splitlines()[-LINES_SHOWN:])
            errors.append(f"{name}: fails; with the C library's malloc it {others}\n{last}")
        elif others == "fails":
            print(f"{name}: passes; with the C library's malloc it fails")
    for error in errors:
        print(f"FAILED {error}")
    print(
        f"{project}: {passed} of {len(wanted)} tests pass with libremanence-malloc.so,"
        f" {sum(each.passed for each in usual.values())} of {len(compared)} with the C library's malloc;"
        f" processor: {preparing:.0f} s to prepare, {ours_took:.0f} s and {usual_took:.0f} s"
    )
    return 1 if errors or not wanted or passed < len(wanted) else 0


if __name__ == "__main__":
    if len(sys.argv) != 7:
        raise SystemExit(__doc__)
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main(*sys.argv[1:]))
