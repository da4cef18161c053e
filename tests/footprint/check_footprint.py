#!/usr/bin/env python3
"""What the library adds to a program: builds the README's first one, linked with the static library and the shared standard
library, and compares what its sections take with limits.

usage: check_footprint.py README LIBRARY OUT_DIRECTORY COMPILER [FLAGS...]
"""

import pathlib
import re
import subprocess
import sys

# Bytes. Beyond these, see docs/decisions/footprint.md: which file has grown, and should it be compiled for size?
LIMITS = {"text": 600 * 1024, "static memory": 300_000}
SECTIONS = {"text": {".text"}, "static memory": {".data", ".bss", ".tdata", ".tbss"}}


def first_program(readme):
    found = re.search(r"```cpp\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise SystemExit(f"{readme} has no program")
    return found[1]


def sizes_of_sections(program):
    lines = subprocess.run(["size", "-A", program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {words[0]: int(words[1]) for words in map(str.split, lines) if len(words) == 3 and words[1].isdigit()}


def main():
    readme, library, out = map(pathlib.Path, sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    source, program = out / "program.cpp", out / "program"
    source.write_text(first_program(readme), encoding="utf-8")
    subprocess.run([*sys.argv[4:], source, library, "-o", program], check=True)
    sizes = sizes_of_sections(program)
    too_large = False
    for what, limit in LIMITS.items():
        size = sum(sizes.get(section, 0) for section in SECTIONS[what])
        too_large |= size > limit
        print(f"{what}: {size:,} bytes of {limit:,} that it may take")
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
