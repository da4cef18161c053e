"""SQLite's in-memory database, killed again and again: demo.py REMCC REM SOURCES FOLDER [--kills N] [--seed N] [--patch FILE].

Adds the lines of keep.patch to bank.c, compiles it and SQLite with remcc, and kills the program while it works. Each start must find the bank as its
last acknowledged transfer left it. SOURCES has the sources of sqlite3 (scripts/get_sources); FOLDER keeps what is compiled of them. The exit status is
not zero if anything was not as it should be.
"""

import argparse
import pathlib
import random
import re
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ACCOUNTS = 100_000
BALANCE = 100
LINES_MAX = 9


def run(*command, **options):
    result = subprocess.run([str(each) for each in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise SystemExit(f"FAILED: {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def compiled_sqlite(remcc, sources, folder):
    """The folder of sqlite3.h, and the object file; both are made when they are missing or older than the compiler."""
    source = next(pathlib.Path(sources).glob("sqlite3-[0-9]*/"))
    if not (source / "sqlite3.c").exists():
        run("./configure", "--disable-tcl", "--disable-readline", cwd=source)
        run("make", "sqlite3.c", cwd=source)
    made = pathlib.Path(folder) / "sqlite3.o"
    compiler = (pathlib.Path(remcc).parents[1] / "lib/remanence-softpm-pass.so").stat().st_mtime
    if not made.exists() or made.stat().st_mtime < compiler:
        print(f"Compiling SQLite {source.name.partition('-')[2]} with remcc, as it is; this takes a minute or more.", flush=True)
        made.parent.mkdir(parents=True, exist_ok=True)
        run(remcc, "-O2", "-w", "-c", source / "sqlite3.c", "-o", made)
    return source, made


def patched_bank(patch, folder):
    """The program with the lines that keep its memory, which are printed."""
    added = [line[1:].strip() for line in patch.read_text(encoding="utf-8").splitlines() if re.match(r"\+[^+]", line)]
    if len(added) > LINES_MAX:
        raise SystemExit(f"FAILED: {patch} adds {len(added)} lines")
    run("patch", "--quiet", "--output", folder / "bank.c", HERE / "bank.c", patch)
    print(f"The program gets these {len(added)} lines, SQLite none:\n")
    for line in added:
        print("    " + line)
    print(flush=True)
    return folder / "bank.c"


def fields(line, begin):
    if not line.startswith(begin + " "):
        raise SystemExit(f"FAILED: the program printed: {line}")
    return dict(each.split("=", 1) for each in line.split()[1:])


class Bank:
    """The program, started as often as it is killed, and what it has acknowledged."""

    def __init__(self, program, folder):
        self.command = [program]
        self.folder = folder
        self.acknowledged = 0
        self.opened_by = None
        self.starts = []

    def start(self):
        """A process whose report was compared with what is known."""
        begin = time.monotonic()
        process = subprocess.Popen(self.command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        try:
            found = fields(process.stdout.readline(), "open")
            self.starts.append(time.monotonic() - begin)
            self.check(found, fields(process.stdout.readline(), "looked"))
        except BaseException:
            process.kill()
            raise
        return process

    def check(self, opened, looked):
        transfers = int(opened["transfers"])
        self.opened_by = self.opened_by or opened["opened_by"]
        wanted = {
            "accounts": ACCOUNTS,
            "sum": ACCOUNTS * BALANCE,
            "integrity": "ok",
            "journal": transfers,
            "opened_by": self.opened_by,
            # Of the statement itself: one that was prepared anew would count from zero.
            "runs": 2 * transfers,
        }
        wrong = [f"{name} is {value}, not {wanted[name]}" for name, value in (opened | looked).items() if str(wanted.get(name, value)) != value]
        if transfers < self.acknowledged:
            wrong.append(f"{transfers} transfers are there, but {self.acknowledged} were acknowledged")
        if wrong:
            raise SystemExit("FAILED: " + "; ".join(wrong))

    def works_until_killed(self, seconds):
        """Returns how many transfers were acknowledged."""
        with self.start() as process:
            if self.acknowledged == 0:  # the first process makes the bank, which is kept from its first point on
                self.acknowledged = int(process.stdout.readline())
            begin = time.monotonic()
            time.sleep(seconds)
            process.kill()
            done = [int(line) for line in process.stdout.read().split("\n")[:-1]]
            self.acknowledged = max([self.acknowledged, *done])
            return len(done), time.monotonic() - begin

    def ends_well(self):
        with self.start() as process:
            process.kill()


def main():
    arguments = argparse.ArgumentParser()
    for name in ("remcc", "rem", "sources", "folder"):
        arguments.add_argument(name, type=pathlib.Path)
    arguments.add_argument("--kills", type=int, default=30)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--patch", type=pathlib.Path, default=HERE / "keep.patch")
    chosen = arguments.parse_args()

    source, made = compiled_sqlite(chosen.remcc, chosen.sources, chosen.folder)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "sqlite_bank"
        run(chosen.remcc, "-O2", f"-I{source}", patched_bank(chosen.patch, folder), made, "-ldl", "-o", program)

        bank = Bank(program, folder)
        choose = random.Random(chosen.seed)
        rates = []
        print(f"{ACCOUNTS:,} accounts in a database called :memory:. It is killed {chosen.kills} times while it transfers money (seed {chosen.seed}).")
        for kill in range(1, chosen.kills + 1):
            done, seconds = bank.works_until_killed(choose.uniform(0.05, 0.8))
            rates.append(done / seconds)
            if kill % 5 == 0 or kill == chosen.kills:
                print(f"  kill {kill:3}: {bank.acknowledged:6,} transfers acknowledged, none lost; integrity_check: ok", flush=True)
        bank.ends_well()
        container = folder / "softpm-1.rem"
        run(chosen.rem, "verify", container)
        print(
            f"All {bank.acknowledged:,} acknowledged transfers are there, and the balances add up after each of {chosen.kills} kills.\n"
            f"The statement that process {bank.opened_by} prepared was executed by {chosen.kills - 1} more processes; it was never prepared again.\n"
            f"A start found the database after {statistics.median(bank.starts[1:]) * 1000:.0f} ms"
            f" ({container.stat().st_blocks * 512 / 2**20:.0f} MiB; the first start, which made it, took {bank.starts[0] * 1000:.0f} ms);"
            f" {statistics.median(rates):.0f} durable transfers/s (medians)."
        )


if __name__ == "__main__":
    main()
