"""What the suites share: to fetch sources, to compile, and to run one test."""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from limits import SECONDS_MAX  # noqa: E402

# Orphans of a test come to this process, which waits for them: PR_SET_CHILD_SUBREAPER.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"


class Outcome(NamedTuple):
    passed: bool
    output: str


def fetch(sources, package):
    """Returns the folder of a Debian package's sources, fetched unless they are there."""
    done = subprocess.run([SCRIPTS / "get_sources", sources, package], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = sorted(sources.glob(f"{package}-[0-9]*/"))
    if done.returncode != 0 or len(found) != 1:
        raise SystemExit(f"{package}: its sources are not to be had\n{done.stdout}")
    return found[0]


def build(command, folder, what):
    """Runs a step without which there are no tests."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        raise SystemExit(f"{what} failed\n{done.stdout[-5000:]}")


def compile_error(command):
    """Returns the first error of a compiler's or linker's run, or nothing when there is none."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == 0:
        return ""
    telling = [line for line in done.stdout.splitlines() if "error" in line or "undefined reference" in line]
    return "does not compile: " + (telling[0] if telling else done.stdout[-500:])


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
    while True:
        try:
            os.waitpid(-group, 0)
        except ChildProcessError:
            return


def run(command, environment, folder=None):
    """Runs a program in a folder, or in an empty one that is removed again. What it leaves running ends with it; its status is that of success or not."""
    with tempfile.TemporaryDirectory() as own, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=environment, cwd=folder or own, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            status = f"hung for {SECONDS_MAX} s"
        end_group(process.pid)
        process.wait()
        output.seek(0)
        said = output.read().decode(errors="replace")
    return Outcome(status == 0, f"{said}\nstatus {status}")
