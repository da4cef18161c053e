#!/usr/bin/env python3
"""remanence(3) names what abi.txt lists, every function and every status, and groff has nothing to say of it: man_test.py."""

import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "remanence.3"


def main():
    text = PAGE.read_text(encoding="utf-8")
    synopsis = text[text.index(".SH SYNOPSIS") : text.index(".SH DESCRIPTION")]
    abi = (HERE / "abi.txt").read_text(encoding="utf-8")
    functions = re.findall(r"^function (\w+)$", abi, re.MULTILINE)
    statuses = re.findall(r"^number (REM_\w+) \d+$", abi, re.MULTILINE)
    statuses = statuses[: statuses.index("REM_UNEXPECTED") + 1]
    missing = [f for f in functions if not re.search(rf"\b{f}\(", synopsis)]
    missing += [s for s in statuses if not re.search(rf"\b{s}\b", text)]
    known = set(functions) | {"rem_heap", "rem_options", "rem_status", "rem_volatile_options", "rem_arena_options"}
    unknown = sorted(set(re.findall(r"\b(rem_\w+)\(", text)) - known)
    for each in missing:
        print(f"{PAGE.name} does not have {each}")
    for each in unknown:
        print(f"{PAGE.name} has {each}, which is not in abi.txt")
    warnings = ""
    if shutil.which("groff"):
        warnings = subprocess.run(["groff", "-man", "-ww", "-z", PAGE], capture_output=True, text=True, check=False).stderr
        print(warnings, end="")
    return 1 if missing or unknown or warnings or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
