#!/usr/bin/env python3
"""Compares abi.txt, what compiled programs rely on, with the library: abi_test.py ABI_PROGRAM LIBRARY [--write].

What is there must stay; what is added is added to the file, by --write, for a reviewer to see.
"""

import pathlib
import subprocess
import sys

LIST = pathlib.Path(__file__).resolve().parent / "abi.txt"


def exported(library):
    """The functions that the library defines for C programs."""
    lines = subprocess.run(["nm", "-g", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted({f"function {words[2]}" for words in map(str.split, lines) if len(words) == 3 and words[2].startswith("rem_")})


def main():
    program, library = sys.argv[1:3]
    found = exported(library) + subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    if "--write" in sys.argv[3:]:
        LIST.write_text("\n".join(found) + "\n", encoding="utf-8")
        return 0
    known = LIST.read_text(encoding="utf-8").splitlines()
    gone = [each for each in known if each not in found]
    new = [each for each in found if each not in known]
    for each in gone:
        print(f"programs rely on this, and it is gone or another one: {each}")
    for each in new:
        print(f"not in {LIST.name}: {each}")
    if new and not gone:
        print("If it is meant to be there for good: abi_test.py ABI_PROGRAM LIBRARY --write")
    return 1 if gone or new else 0


if __name__ == "__main__":
    sys.exit(main())
