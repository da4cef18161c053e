#!/usr/bin/env python3
"""The workloads' system calls, by strace, are the operations of the simulated disk; each that fails is reported.

usage: traces_test.py PROGRAM [unittest's arguments]
"""
import os
import shutil
import signal
import subprocess
import tempfile

from real_support import *  # pylint: disable=wildcard-import,unused-wildcard-import


class TracedTest(RealTest):
    PARENT = None  # of its directory: where temporary files are

    @classmethod
    def setUpClass(cls):
        require_strace()

    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=self.PARENT)
        self.addCleanup(directory.cleanup)
        self.directory = os.path.realpath(directory.name)

    def work(self, name):
        return make_work_directory(self.directory, name)

    def real(self, workload, *wrapped_in):
        directory = self.work(workload)
        run, trace = traced(directory, workload, *wrapped_in)
        self.assertEqual(run.status, OK, run.said)
        return operations_of(trace, directory)

    def judge(self, workload, operations):
        done = subprocess.run([PROGRAM, "judge", workload, WORKLOAD_SEED, "1000"], input="\n".join(operations),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX)
        return done.returncode, done.stdout.splitlines()


class Traces(TracedTest):
    maxDiff = None

    def test_are_those_of_the_simulated_disk(self):
        total = 0
        for workload in WORKLOADS:
            with self.subTest(workload):
                real = self.real(workload)
                self.assertEqual(real, operations_simulated(workload))
                total += len(real)
        print(f"{len(WORKLOADS)} workloads, {total} operations and promises, each the same")


class WithoutSyncs(TracedTest):
    """A negative control: libeatmydata makes every sync succeed without doing it."""

    WORKLOAD = "checkpoints"

    def test_the_trace_has_all_but_the_syncs(self):
        require("eatmydata")
        simulated = operations_simulated(self.WORKLOAD)
        without = [line for line in simulated if not line.startswith("sync ")]
        self.assertLess(len(without), len(simulated))
        self.assertEqual(self.real(self.WORKLOAD, "eatmydata"), without)

    def test_what_was_written_would_be_lost_from_the_simulated_disk(self):
        require("eatmydata")
        status, said = self.judge(self.WORKLOAD, self.real(self.WORKLOAD, "eatmydata"))
        self.assertEqual(status, BROKEN_PROMISE, said)
        print(": ".join(said[:3]))

    def test_what_was_written_and_synced_would_not(self):
        status, said = self.judge(self.WORKLOAD, self.real(self.WORKLOAD))
        self.assertEqual(status, OK, said)
        self.assertEqual(said[0], "0 syncs are missing")


class FailingCalls(TracedTest):
    """At each call in turn, until a run makes no more, something goes wrong: nothing acknowledged is lost."""

    PARENT = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where the syncs that do not fail cost nothing

    def at_each(self, call, what, expected, *workloads):
        total = 0
        for workload in workloads:
            n = 1
            while self.at(workload, n, call, what, expected):
                n += 1
            total += n - 1
        self.assertGreater(total, 0)
        print(f"{call}: {what} {total} times")

    def at(self, workload, n, call, what, expected):
        """Whether there was an nth call."""
        directory = self.work(workload)
        run, trace = traced(directory, workload, calls=call, inject=f"{call}:{what}:when={n}")
        reached = run.status == -signal.SIGKILL or any("(INJECTED)" in line for line in trace)
        with self.subTest(workload=workload, call=call, what=what, n=n):
            self.assertEqual(run.status, expected if reached else OK, run.said)
            self.check(directory, workload, run.promise)
        shutil.rmtree(directory)
        return reached

    def test_each_failed_sync_of_a_file_is_reported(self):
        self.at_each("fdatasync", "error=EIO", REPORTED, "create", "checkpoints")
        self.at_each("fdatasync", "error=ENOSPC", REPORTED, "create")

    def test_each_failed_sync_of_a_directory_is_reported(self):
        self.at_each("fsync", "error=EIO", REPORTED, "create", "checkpoints")
        self.at_each("fsync", "error=ENOSPC", REPORTED, "create")

    def test_each_failed_write_is_reported(self):
        self.at_each("pwrite64", "error=EIO", REPORTED, "create", "checkpoints")
        self.at_each("pwrite64", "error=ENOSPC", REPORTED, "create")

    def test_a_process_killed_at_any_call_loses_nothing_acknowledged(self):
        for call in ("pwrite64", "fdatasync", "fsync", "fallocate", "ftruncate", "renameat2", "unlink"):
            self.at_each(call, "signal=KILL", -signal.SIGKILL, "create", "copied")


if __name__ == "__main__":
    main()
