"""What the tests on real files share: runs of the workload program, what these promised, and their system calls."""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402
from limits import SECONDS_MAX  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
WORKLOAD_SEED = "1"
OK, BROKEN_PROMISE, REPORTED = 0, 1, 3  # how the program ends
WORKLOADS = subprocess.run([PROGRAM, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
SHARE = os.environ.get("REMANENCE_SHARE")  # a number from 0 to 3: every fourth workload, from that one on
if SHARE is not None:
    WORKLOADS = WORKLOADS[int(SHARE)::4]

os.environ["PATH"] += ":/usr/sbin:/sbin"  # mkfs is there
os.environ["LC_ALL"] = "C"  # what mount says is read

Promise = collections.namedtuple("Promise", "created acknowledged in_flight")


def require(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"{program} is not installed; packages.txt has it")


def require_strace():
    require("strace")
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise unittest.SkipTest("strace may not trace here: " + tried.stderr.strip())


def make_work_directory(parent, name):
    """A directory for a workload, durable as far as the file system keeps its word."""
    work = os.path.join(parent, name)
    os.makedirs(os.path.join(work, "heaps"))
    for each in (work, parent):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return work


def require_direct_writes(directory):
    """Elsewhere the program writes through the page cache what it would write directly."""
    path = os.path.join(directory, "direct")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
    except OSError as why:
        raise unittest.SkipTest(f"the file system of {directory} knows no O_DIRECT: {why}")


def operations_simulated(workload):
    """What the program asks the simulated disk to do, and what it promises, as lines."""
    return subprocess.run([PROGRAM, "trace", workload, WORKLOAD_SEED], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.splitlines()


class Run:
    """The program at work; a line of it is a promise, or "full". In steps, it waits for go_on() after each."""

    def __init__(self, directory, workload, *wrapped_in, steps=False, **options):
        self.promise = Promise(0, 0, 0)
        self.status = None
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*wrapped_in, PROGRAM, "run", workload, WORKLOAD_SEED], cwd=directory, text=True, stderr=self.errors,
            stdin=subprocess.PIPE if steps else subprocess.DEVNULL, stdout=subprocess.PIPE, **options)

    def next_line(self):
        """What the promise is about, or "full"; nothing when the program has ended."""
        line = self.process.stdout.readline().strip()
        if not line:
            return None
        if line == "full":
            return line
        created, acknowledged, in_flight, what = line.split(maxsplit=3)
        self.promise = Promise(int(created), int(acknowledged), int(in_flight))
        return what

    def next_promise(self):
        """Which there must be."""
        what = self.next_line()
        if what is None:
            raise AssertionError(f"the program has ended: {self.end().said}")
        return what

    def go_on(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has been killed

    def kill(self):
        self.process.kill()
        return self.end()

    def end(self):
        """Hears what is left to be heard, and lets it end by itself."""
        if self.process.stdin:
            self.process.stdin.close()
        while self.next_line():
            pass
        self.process.stdout.close()
        self.status = self.process.wait(SECONDS_MAX)
        self.errors.seek(0)
        self.said = self.errors.read().strip()
        self.errors.close()
        return self

    def stop(self):
        """If a test has failed before its end."""
        if self.status is None:
            self.kill()


def check(directory, workload, promise):
    """Opens what a run left. The status, and the version found or what was said."""
    done = subprocess.run([PROGRAM, "check", workload, WORKLOAD_SEED, *map(str, promise)], cwd=directory, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX)
    return done.returncode, done.stdout.strip()


class RealTest(unittest.TestCase):
    def start(self, directory, workload, *wrapped_in, steps=False):
        run = Run(directory, workload, *wrapped_in, steps=steps)
        self.addCleanup(run.stop)
        return run

    def check(self, directory, workload, promise):
        status, said = check(directory, workload, promise)
        self.assertEqual(status, OK, f"{workload}, of which {promise}: {said}")


# Traces. Names below the working directory are taken to begin with "//".

FILE = r"\d+<//([^>]*)>"
OPERATIONS = [(re.compile(call), line) for call, line in [
    (rf'pwrite64\({FILE}, ".*"(?:\.\.\.)?, (\d+), (\d+)\) += \2', r"write \1 \3 \2"),  # a short one is no match
    (rf"(fdatasync|fsync)\({FILE}\) += 0", r"\1 \2"),
    (rf"ftruncate\({FILE}, (\d+)\) += 0", r"resize \1 \2"),
    (rf"fallocate\({FILE}, 0, (\d+), (\d+)\) += 0", r"reserve \1 \2 \3"),
    (rf"fallocate\({FILE}, FALLOC_FL_KEEP_SIZE\|FALLOC_FL_PUNCH_HOLE, (\d+), (\d+)\) += 0", r"punch \1 \2 \3"),
    (rf"openat\(.*O_CREAT.*\) += {FILE}", r"create \1"),  # if it was not there
    (r'renameat2\(.*"([^"]*)", .*"([^"]*)", RENAME_NOREPLACE\) += 0', r"rename \1 \2"),
    (r'rename\("([^"]*)", "([^"]*)"\) += 0', r"rename \1 \2"),
    (r'unlink\("([^"]*)"\) += 0', r"remove \1"),
    (r'write\(1<[^>]*>, "(\d .*)\\n", \d+\) += \d+', r"told \1"),
]]
OPENED_FOR_DIRECT_WRITES = re.compile(r"openat\((.*O_DIRECT.*)\) += (\d+)<")
NUMBER = re.compile(r"\w+\((\d+)<")
# Those that change no file, as far as the program makes them, and those that failed.
HARMLESS = re.compile(
    r"(execve|access|newfstatat|fstatfs|pread64|read|fadvise64|lseek|close|fcntl|readlink|mkdir)\(|openat\((?!.*O_CREAT)|mmap\(.*MAP_PRIVATE|"
    r"statx\(.*, STATX_TYPE\|STATX_INO, |"  # asking for times would make the next durable write slower
    r"sync_file_range\(.*, SYNC_FILE_RANGE_WRITE\) += 0|"  # any write may get to the disk at any time
    r".* = -1 E|.* = \?$")


class UnknownCall(Exception):
    pass


def operations_of(trace, directory):
    """What strace wrote, as the program prints the operations of the simulated disk."""
    root = os.path.realpath(directory) + "/"
    names = set()
    direct = {}  # descriptor → how it was opened
    operations = []
    for _, line in trace:
        line = line.replace(root, "//")
        if opened := OPENED_FOR_DIRECT_WRITES.match(line):
            direct[opened[2]] = opened[1]
        used = NUMBER.match(line)
        if used and line.startswith("close("):
            direct.pop(used[1], None)
        matches = [match.expand(operation) for call, operation in OPERATIONS if (match := call.match(line))]
        if not matches:
            if ("//" in line or '"heaps' in line) and not HARMLESS.match(line):
                raise UnknownCall(line)
            continue
        what, *named = matches[0].split()
        if what == "create" and named[0] in names:
            continue
        names.difference_update(named[:1] if what in ("rename", "remove") else ())
        names.update(named[-1:] if what in ("rename", "create") else ())
        if what == "write" and used[1] in direct:
            operations.append(" ".join(["write_direct", *named]))
            if "O_DSYNC" in direct[used[1]]:
                operations.append(" ".join(["sync_written", *named]))
        else:
            operations.append(matches[0])
    return operations


def traced(directory, workload, *wrapped_in, calls="%file,%desc", inject=None, **of_process):
    """Runs a workload under strace. The run, and what strace wrote: pairs of a thread and a line."""
    output = os.path.join(directory, "strace")
    options = ["-f", "-y", "-qq", "-s", "64", "-o", output, "-e", "trace=" + calls]
    if inject:
        options += ["-e", "inject=" + inject]
    if "signal" not in (inject or ""):
        options += ["--seccomp-bpf"]  # several times faster; but strace 6.1 sends no signals with it
    run = Run(directory, workload, "strace", *options, *wrapped_in, **of_process).end()
    with open(output, errors="replace") as file:
        return run, [line.split(maxsplit=1) for line in file]


def main():
    """As ctest shall see it: 77 when anything was skipped."""
    done = repeating.main(words=1, exit=False, verbosity=2).result
    sys.exit(1 if not done.wasSuccessful() else 77 if done.skipped else 0)
