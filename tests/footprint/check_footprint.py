#!/usr/bin/env python3
"""What the library adds to a program: links the README's first one, and one in C, with the static library and the shared standard
library, strips them, and compares what their sections take with limits.

usage: check_footprint.py README LIBRARY OUT_DIRECTORY INCLUDE_DIRECTORY C_COMPILER COMPILER
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Bytes. Beyond these, see docs/decisions/footprint.md: which file has grown, and should it be compiled for size?
STATIC_MAX = 300_000
TEXT_MAX = {"README.md": 575_000, "program.c": 512_000}
PARTS = ["txn::undo_manager::", "txn::shared_heap::", "process_coordination::", "txn::map_version", "detail::held_roots::", "txn::make_block_notes",
         "txn::resident_limits::", "txn::past_memory::"]
SECTIONS = {"text": {".text", "remanence_allocates"}, "static memory": {".data", ".bss", ".tdata", ".tbss"}}


def first_program(readme):
    found = re.search(r"```cpp\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise SystemExit(f"{readme} has no program")
    return found[1]


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def sizes_of_sections(program):
    lines = run("size", "-A", program).splitlines()
    return {words[0]: int(words[1]) for words in map(str.split, lines) if len(words) == 3 and words[1].isdigit()}


def main():
    readme, library, out, include = map(pathlib.Path, sys.argv[1:5])
    c_compiler, compiler = sys.argv[5:7]
    out.mkdir(parents=True, exist_ok=True)
    source = out / "program.cpp"
    source.write_text(first_program(readme), encoding="utf-8")
    run(compiler, "-std=c++20", "-I", include, "-c", source, "-o", out / "README.md.o")
    run(c_compiler, "-std=c99", "-I", include, "-c", HERE / "program.c", "-o", out / "program.c.o")
    too_large = False
    for name, text_max in TEXT_MAX.items():
        program = out / pathlib.Path(name).stem
        run(compiler, out / f"{name}.o", library, "-pthread", "-Wl,--gc-sections", "-s", "-o", program)
        sizes = sizes_of_sections(program)
        for what, limit in ("text", text_max), ("static memory", STATIC_MAX):
            size = sum(sizes.get(section, 0) for section in SECTIONS[what])
            too_large |= size > limit
            print(f"{name}: {what}: {size:,} bytes of {limit:,} that it may take")
        read_only = int(run("size", program).splitlines()[1].split()[0])
        print(f"{name}: with constants and tables of exceptions, which `size` counts as text: {read_only:,} bytes")
    is_refused = is_refused_a_history(c_compiler, compiler, library, include, out)
    return 0 if not too_large and is_refused and has_no_part(compiler, library, include, out) else 1


def has_no_part(compiler, library, include, out):
    """A program that names no part has none, and is told so when it asks for what needs one."""
    for each in out.glob("unnamed.rem*"):
        each.unlink()
    program = out / "unnamed"
    run(compiler, "-std=c++20", "-O0", "-I", include, HERE / "unnamed.cpp", library, "-pthread", "-Wl,--gc-sections", "-o", program)
    symbols = run("nm", "-C", program)
    found = [part for part in PARTS if part in symbols]
    told = subprocess.run([program], cwd=out, capture_output=True, text=True)
    print(f"a program that names no part has {found or 'none'}, and is told: {told.stdout + told.stderr}")
    return "txn::engine::" in symbols and not found and told.returncode == 0 and "options.history = {.steps_max" in told.stdout


def is_refused_a_history(c_compiler, compiler, library, include, out):
    """A program without the part for histories does not write to a heap that has one, and says how it could."""
    heap = out / "accounts.rem"
    for each in out.glob("accounts.rem*"):
        each.unlink()
    without, keeper = out / "program", out / "keeper"
    run(c_compiler, "-std=c99", "-I", include, "-c", HERE / "keeper.c", "-o", out / "keeper.c.o")
    run(compiler, out / "keeper.c.o", library, "-pthread", "-Wl,--gc-sections", "-o", keeper)
    results = [subprocess.run([each], cwd=out, capture_output=True, text=True) for each in (without, keeper, without, keeper)]
    told = [(each.returncode, each.stdout + each.stderr) for each in results]
    print(f"a program without histories, one with, both again: {told}")
    message = told[2][1]
    return (
        [code for code, _ in told] == [0, 0, 1, 0]
        and told[3][1] == "2 steps\n"
        and all(part in message for part in (str(heap), "lacks that part", "kept_over_sessions = true", "rem history --end"))
    )


if __name__ == "__main__":
    sys.exit(main())
