"""memcached, killed again and again: demo.py REMCC SOURCES FOLDER [--kills N] [--seed N] [--every MS] [--rem REM].

Compiles memcached's sources, as they are, with remcc, links keep.c to it, and kills the server while two processes load it. Each start must have what
one moment shortly before the kill had (client.py), and the same hit rate as before. SOURCES has the sources of memcached (scripts/get_sources); FOLDER
keeps what is compiled of them. The exit status is not zero if anything was not as it should be.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KEPT_SOURCES = ("items", "assoc", "slabs", "crawler")
MEGABYTES = 20  # less than the clients store, so that the server evicts
RATE_LOST_MAX = 0.2  # the rate before counts gets of what the clients had just stored, and lost
LONGEST_START = 60  # s


class Failed(SystemExit):
    def __init__(self, text):
        super().__init__("FAILED: " + text)


def run(*command, **options):
    result = subprocess.run([str(each) for each in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def source_of(sources):
    return next(path for path in pathlib.Path(sources).glob("memcached-[0-9]*/"))


def changed_lines(source):
    """How many lines differ from Debian's package."""
    package = next(source.parent.glob("memcached_*.dsc"))
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-source", "-x", package, pathlib.Path(folder) / "new")
        result = subprocess.run(["diff", "-r", "-N", pathlib.Path(folder) / "new", source], capture_output=True, text=True, errors="replace")
        return sum(line[0] in "<>" for line in result.stdout.splitlines() if line)


def lines_of_code(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(bool(line.strip()) for line in text.splitlines())


def compiled(remcc, source, folder):
    """The server; made when it is missing or older than the compiler or keep.c."""
    build = (pathlib.Path(folder) / "memcached").absolute()
    server = build / "memcached"
    newest = max(each.stat().st_mtime for each in (*HERE.glob("k*"), *(pathlib.Path(remcc).parents[1] / "lib").glob("remanence-softpm-pass.so")))
    if server.exists() and server.stat().st_mtime > newest:
        return server
    print(f"Compiling {source.name} with remcc, as it is; this takes a minute.", flush=True)
    build.mkdir(parents=True, exist_ok=True)
    if not (build / "Makefile").exists():
        run(source.absolute() / "configure", f"CC={remcc}", "--disable-docs", "--disable-coverage", cwd=build)
    wrapped = sorted(set(re.findall(r"__wrap_(\w+)", (HERE / "keep.c").read_text(encoding="utf-8"))))
    # Debian's patches touch configure.ac; what it makes is there already.
    make = ("make", "-s", *(f"{tool}=:" for tool in ("AUTOCONF", "AUTOMAKE", "ACLOCAL", "AUTOHEADER")))
    run(*make, "clean", cwd=build)
    run(remcc, "-O2", "-Wall", f"-I{source.absolute()}", f"-I{build}", "-DHAVE_CONFIG_H", "-c", HERE / "keep.c", "-o", build / "keep.o")
    section = shlex.quote(str(HERE / "kept_section.h"))
    run(*make, f"CFLAGS=-O2 -w -include {section}", *(f"memcached-{each}.o" for each in KEPT_SOURCES), cwd=build)
    libraries = f"-levent {build}/keep.o " + " ".join(f"-Wl,--wrap={each}" for each in wrapped)
    run(*make, "CFLAGS=-O2 -w -Dclock_gettime=kept_clock_gettime", f"LIBS={libraries}", "memcached", cwd=build)
    return server


def free_port():
    with socket.socket() as any_one:
        any_one.bind(("127.0.0.1", 0))
        return any_one.getsockname()[1]


class Server:
    def __init__(self, program, folder, every):
        self.port = free_port()
        self.folder = folder
        self.command = [str(program), "-l", "127.0.0.1", "-p", str(self.port), "-m", str(MEGABYTES)]
        if os.geteuid() == 0:
            self.command += ["-u", "root"]
        self.environment = {**os.environ, "REM_EVERY": str(every)}
        self.process = None

    def start(self):
        """Returns after how many seconds it took connections."""
        begin = time.monotonic()
        self.process = subprocess.Popen(self.command, cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True)
        while time.monotonic() - begin < LONGEST_START:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return time.monotonic() - begin
            except OSError:
                if self.process.poll() is not None:
                    raise Failed(f"the server ended by itself: {self.process.stderr.read()}") from None
                time.sleep(0.002)
        raise Failed(f"the server took no connection within {LONGEST_START} s")

    def kill(self):
        if self.process.poll() is not None:
            raise Failed(f"the server ended by itself: {self.process.stderr.read()}")
        self.process.kill()
        self.process.communicate()

    def statistic(self, name):
        with socket.create_connection(("127.0.0.1", self.port)) as connection, connection.makefile("rb") as file:
            connection.sendall(b"stats\r\n")
            found = dict(line.split()[1:3] for line in iter(file.readline, b"END\r\n"))
        return int(found[name.encode()])


class Clients:
    """Two processes, which do the same at the same time."""

    def __init__(self, port, seed):
        command = [sys.executable, "-B", HERE / "client.py"]
        self.processes = [
            subprocess.Popen([*command, name, str(port), str(seed + number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for number, name in enumerate("ab")
        ]

    def tell(self, command):
        for each in self.processes:
            each.stdin.write(command + "\n")
            each.stdin.flush()

    def answers(self):
        lines = [each.stdout.readline() for each in self.processes]
        if not all(lines):
            raise Failed("a client ended: see above")
        return [json.loads(line) for line in lines]

    def end(self):
        for each in self.processes:
            each.kill()
            each.communicate()


def checked(server, clients, rate_before):
    """Compares the server with what the clients know; returns their answers."""
    items = [server.statistic("curr_items")]
    clients.tell("check")
    answers = clients.answers()
    items.append(server.statistic("curr_items"))
    wrong = [each for answer in answers for each in answer["wrong"]]
    found = sum(answer["found"] for answer in answers)
    if not min(items) <= found <= max(items):
        wrong.append(f"the server counts {items[0]} items, but has {found}")
    rate = statistics.mean(answer["rate"] for answer in answers)
    if rate < rate_before - RATE_LOST_MAX:
        wrong.append(f"the hit rate is {rate:.1%}, and was {rate_before:.1%}")
    if wrong:
        raise Failed("; ".join(wrong))
    return found, rate, [answer["lost"] for answer in answers]


def demonstrate(server, clients, kills, choose):
    server.start()
    clients.tell("fill")
    clients.answers()
    starts, losses, speeds = [], [], []
    for kill in range(1, kills + 1):
        clients.tell("load")
        time.sleep(choose.uniform(0.3, 1.2))
        server.kill()
        loads = clients.answers()
        speeds.append(sum(each["operations"] for each in loads) / max(each["seconds"] for each in loads))
        before = sum(each["hits"] for each in loads) / max(1, sum(each["gets"] for each in loads))
        starts.append(server.start())
        found, rate, lost = checked(server, clients, before)
        losses += lost
        if kill % 5 == 0 or kill == kills:
            print(
                f"  kill {kill:3}: {found:6,} items, all as of one moment {max(each['seconds'] for each in lost) * 1000:.0f} ms before;"
                f" hit rate {before:.1%} before, {rate:.1%} after",
                flush=True,
            )
    evictions = server.statistic("evictions")
    print(
        f"Each start found its items after {statistics.median(starts) * 1000:.0f} ms, and lost the last"
        f" {statistics.median(each['seconds'] for each in losses) * 1000:.0f} ms of changes ({statistics.median(each['changes'] for each in losses):.0f} of a"
        f" client); the server answered {statistics.median(speeds):,.0f} operations/s (medians)."
        f" It has evicted {evictions:,} items by its LRU lists, which are kept."
    )
    if evictions == 0:
        raise Failed("nothing was evicted, so that the LRU lists were not tried")


def main():
    arguments = argparse.ArgumentParser()
    for name in ("remcc", "sources", "folder"):
        arguments.add_argument(name, type=pathlib.Path)
    arguments.add_argument("--kills", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--every", type=int, default=100, help="milliseconds between points")
    arguments.add_argument("--rem", type=pathlib.Path, help="verifies the container at the end")
    chosen = arguments.parse_args()

    source = source_of(chosen.sources)
    program = compiled(chosen.remcc.absolute(), source, chosen.folder)
    own = sum(lines_of_code(HERE / name) for name in ("keep.c", "kept_section.h"))
    print(f"{changed_lines(source)} lines of {source.name} are changed; keep.c and kept_section.h have {own} lines of code.")
    print(f"A cache of {MEGABYTES} MiB, loaded by two processes, is killed {chosen.kills} times (seed {chosen.seed}).", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, chosen.every)
        clients = Clients(server.port, chosen.seed)
        try:
            demonstrate(server, clients, chosen.kills, random.Random(chosen.seed))
        finally:
            clients.end()
            if server.process is not None:
                server.process.kill()
                server.process.communicate()
        if chosen.rem:
            run(chosen.rem, "verify", pathlib.Path(folder) / "softpm-1.rem")


if __name__ == "__main__":
    main()
