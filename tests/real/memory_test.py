#!/usr/bin/env python3
"""Programs that change more than their control group lets them have of memory, and are not killed.

usage: memory_test.py PROGRAM [unittest's arguments]
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402
from limits import SECONDS_MAX  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
MEBIBYTES, LIMIT_BYTES = 512, 128 << 20
SKIPPED = 77


def limited_group():
    """A group below the process's own; version 1, or 2. None: there can be none here."""
    with open("/proc/self/cgroup", encoding="ascii") as groups:
        lines = [line.strip().split(":", 2) for line in groups]
    for _, controllers, group in lines:
        if "memory" in controllers.split(","):
            parent, limit = "/sys/fs/cgroup/memory" + group, "memory.limit_in_bytes"
        elif controllers == "":
            parent, limit = "/sys/fs/cgroup" + group, "memory.max"
        else:
            continue
        made = os.path.join(parent, f"remanence-test-{os.getpid()}")
        try:
            os.mkdir(made)
        except OSError:
            continue
        try:
            with open(os.path.join(made, limit), "w", encoding="ascii") as into:
                into.write(str(LIMIT_BYTES))
            return made
        except OSError:
            os.rmdir(made)
    return None


class BeyondMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.group = limited_group()
        if cls.group is None:
            raise unittest.SkipTest("no control group with a limit of memory can be made here")
        cls.addClassCleanup(os.rmdir, cls.group)
        directory = tempfile.TemporaryDirectory(prefix="remanence-memory-")
        cls.addClassCleanup(directory.cleanup)
        cls.heap = os.path.join(directory.name, "heap")

    def run_in_group(self, what):
        join = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        done = subprocess.run(["/bin/sh", "-c", join, self.group, PROGRAM, what, self.heap, str(MEBIBYTES)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX)
        print(f"{what}: {done.stdout.strip() or done.returncode}", flush=True)
        self.assertEqual(done.returncode, 0, f"{what}: {done.stdout}")

    def remove_heap(self):
        directory = os.path.dirname(self.heap)
        for name in os.listdir(directory):
            os.remove(os.path.join(directory, name))

    def test_built(self):
        for what in ("build", "build_async"):
            self.run_in_group(what)
            self.remove_heap()

    def test_built_and_changed(self):
        for what in ("build_zeros", "in_section", "in_lock", "in_tried_lock", "outside", "async", "in_parts", "in_thin_parts",
                     "at_random", "check"):
            self.run_in_group(what)
        self.remove_heap()


if __name__ == "__main__":
    ran = repeating.main(words=1, exit=False).result
    sys.exit(1 if not ran.wasSuccessful() else SKIPPED if ran.skipped else 0)
