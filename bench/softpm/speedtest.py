"""What marks cost: SQLite's speedtest1 in memory, compiled plainly and by remcc: speedtest.py REMCC SOURCES FOLDER
[--runs N] [--size N]; a part of measure.py.

Runs take turns. Prints medians of the processor's time, user and system, which other programs on the machine disturb least.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples/sqlite"))
import demo  # noqa: E402


def compiled(compiler, source, folder, name, newest):
    program = folder / f"speedtest_{name}"
    if not program.exists() or program.stat().st_mtime < newest:
        demo.run(compiler, "-O2", "-w", f"-I{source}", source / "test/speedtest1.c", source / "sqlite3.c", "-ldl", "-lm", "-pthread", "-o", program)
    return program


def seconds(*command):
    """Of the processor."""
    with subprocess.Popen([str(each) for each in command], stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} failed")
    return used.ru_utime + used.ru_stime



def measure(remcc, sources, folder, runs, size):
    """Prints a table; returns all times."""
    source, _ = demo.compiled_sqlite(remcc, sources, folder)
    newest = (remcc.absolute().parents[1] / "lib/remanence-softpm-pass.so").stat().st_mtime
    programs = {name: compiled(compiler, source, folder, name, newest) for name, compiler in (("plain", "clang-19"), ("remcc", remcc.absolute()))}
    times = {name: [] for name in programs}
    for _ in range(runs):
        for name, program in programs.items():
            times[name].append(seconds(program, "--memdb", "--size", size))
    medians = {name: statistics.median(all_of) for name, all_of in times.items()}
    print(f"speedtest1 --memdb --size {size}, {runs} runs in turn: seconds of the processor")
    for name, all_of in times.items():
        print(f"{name:8} {medians[name]:7.3f}  ({min(all_of):.3f} to {max(all_of):.3f})  {medians[name] / medians['plain']:.2f} x plain, fastest runs {min(all_of) / min(times['plain']):.2f}", flush=True)
    return times


def main():
    arguments = argparse.ArgumentParser()
    for name in ("remcc", "sources", "folder"):
        arguments.add_argument(name, type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=7)
    arguments.add_argument("--size", type=int, default=30)
    chosen = arguments.parse_args()
    measure(chosen.remcc, chosen.sources, chosen.folder, chosen.runs, chosen.size)


if __name__ == "__main__":
    main()
