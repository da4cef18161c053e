"""Runs the benchmarks for which aims are set, in short form, and prints one table of measured figures, peers and aims: main.py FOLDER
[--runs N] [--dir FOLDER] [--only NAME]... [--json FILE]. FOLDER has their programs. A benchmark that fails or is not built is named, and
the others go on.
"""

import argparse
import json
import pathlib
import subprocess
import sys

# Only what the aims need is measured.
SHORT = {
    "commit_cost": ["--workload", "100 bytes"],
    "cache": ["--workload", "1,000,000 entries, each 20", "--only", "no persistence", "--only", "remanence", "--only", "LMDB, synced"],
    "transactions": ["--workload", "durable, map", "--only", "remanence, declared", "--only", "Berkeley DB"],
    "softpm": ["--only", "sqlite"],
    "churn": ["--workload", "3 changes", "--only", "declared", "--only", "device"],
    "address_book": ["--workload", "distinct"],
    "history": ["--workload", "a million steps", "--workload", "versions", "--only", "kept"],
    "schema": ["--workload", "address book", "--workload", "numbers", "--workload", "migration"],
    "allocator": ["--workload", "larson", "--workload", "sh8", "--workload", "mstress"],
}
HEAD = ("what", "measured", "peer", "aim", "")


def lines_of(name, programs, chosen):
    """Returns the cells of the lines that begin with "aim: " (bench/common/aim.hpp); one line that says why, if there are none."""
    program = programs / name
    if not program.exists():
        return [(name, "not built", "-", "-", "-")]
    command = [program, *SHORT[name], "--runs", str(chosen.runs), *(["--dir", chosen.dir] if chosen.dir else [])]
    print(f"== {name}", file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found = [tuple(line.removeprefix("aim: ").split(" | ")) for line in done.stdout.splitlines() if line.startswith("aim: ")]
    if done.returncode != 0 or not found:
        found.append((name, f"failed: {done.returncode}", "-", "-", "-"))
    return found


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--dir")
    arguments.add_argument("--only", action="append", choices=SHORT)
    arguments.add_argument("--json", type=pathlib.Path)
    chosen = arguments.parse_args()
    found = [line for name in SHORT if not chosen.only or name in chosen.only for line in lines_of(name, chosen.programs, chosen)]
    widths = [max(len(line[i]) for line in [HEAD, *found]) for i in range(len(HEAD))]
    for line in [HEAD, *found]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    if chosen.json:
        rows = [dict(zip(("what", "measured", "peer", "aim", "result"), line)) for line in found]
        chosen.json.write_text(json.dumps({"benchmark": "all", "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return any(line[-1] == "-" for line in found)


if __name__ == "__main__":
    sys.exit(main())
