#!/usr/bin/env python3
"""The workloads' system calls, by strace, are the operations of the simulated disk; each that fails is reported.

usage: traces_test.py PROGRAM [unittest's arguments]

A run: 2,163 operations and acknowledgements of 14 workloads, each the same. Of all calls of 12 workloads 2,188 failures were each
reported, and 1,570 kills lost nothing.
"""
import collections
import ctypes
import itertools
import os
import shutil
import signal
import subprocess
import tempfile

from real_support import *  # pylint: disable=wildcard-import,unused-wildcard-import


PR_SET_THP_DISABLE = 41


def without_huge_pages():
    """For a process that is about to begin: as where other processes have left no memory in one piece."""
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


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
        run, trace = traced(directory, workload, *wrapped_in, preexec_fn=without_huge_pages)
        self.assertEqual(run.status, OK, run.said)
        return operations_of(trace, directory)

    def judge(self, workload, operations):
        done = subprocess.run([PROGRAM, "judge", workload, WORKLOAD_SEED, "1000"], input="\n".join(operations),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX)
        return done.returncode, done.stdout.splitlines()


class ComparedTest(TracedTest):
    def setUp(self):
        super().setUp()
        require_direct_writes(self.directory)


class Traces(ComparedTest):
    maxDiff = None

    def test_are_those_of_the_simulated_disk(self):
        total = 0
        for workload in WORKLOADS:
            with self.subTest(workload):
                real = self.real(workload)
                self.assertEqual(real, operations_simulated(workload))
                total += len(real)
        print(f"{len(WORKLOADS)} workloads, {total} operations and promises, each the same")


class WithoutSyncs(ComparedTest):
    """A negative control: libeatmydata makes every sync succeed without doing it."""

    WORKLOAD = "checkpoints"

    def test_the_trace_has_all_but_the_syncs(self):
        require("eatmydata")
        simulated = operations_simulated(self.WORKLOAD)
        without = [line for line in simulated if line.split()[0] not in ("fdatasync", "sync_written", "fsync")]
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
    """At one call of a run something goes wrong: nothing acknowledged is lost.

    It is each call in turn of some workloads, and one at random of some of the others, drawn for each kind of call and of
    failure; REMANENCE_FAILING_CALLS=all asks for each call of all.
    """

    PARENT = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where the syncs that do not fail cost nothing
    EACH_OF = ("create", "checkpoints")
    OTHERS = 20
    CALLS = ("pwrite64", "fdatasync", "fsync", "fallocate", "ftruncate", "renameat2", "rename", "unlink")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.counts = {}

    def setUp(self):
        super().setUp()
        self.random = repeating.randoms(self)

    def count(self, call, workload):
        """How often the thread of a run that makes that call most often does, since strace counts those of each by themselves."""
        if workload not in self.counts:
            directory = self.work(workload)
            run, trace = traced(directory, workload, calls=",".join(self.CALLS))
            self.assertEqual(run.status, OK, run.said)
            made = collections.Counter((line.split("(", 1)[0], thread) for thread, line in trace)
            self.counts[workload] = {each: max((made[call, thread] for call, thread in made if call == each), default=0)
                                     for each in self.CALLS}
            shutil.rmtree(directory)
        return self.counts[workload][call]

    def at_calls(self, call, what, expected):
        tried = total = 0
        with_call = [workload for workload in WORKLOADS if self.count(call, workload)]
        others = [workload for workload in with_call if workload not in self.EACH_OF]
        drawn = self.random.sample(others, min(len(others), self.OTHERS))
        for workload in with_call:
            which = range(1, self.count(call, workload) + 1)
            total += len(which)
            if workload in others and os.environ.get("REMANENCE_FAILING_CALLS") != "all":
                which = self.random.sample(which, 1 if workload in drawn else 0)
            for n in which:
                self.at(workload, n, call, what, expected)
            tried += len(which)
        self.assertGreater(tried, 0)
        print(f"{call}: {what} at {tried} of {total} calls, of one thread each, in {len(with_call)} workloads")

    def at(self, workload, n, call, what, expected):
        directory = self.work(workload)
        run, trace = traced(directory, workload, calls=call + ",rename,renameat2", inject=f"{call}:{what}:when={n}")
        with self.subTest(workload=workload, call=call, what=what, n=n):
            injected = "".join(line for _, line in trace if "(INJECTED)" in line)
            self.assertTrue(run.status == -signal.SIGKILL or injected, "not reached")
            # What finds no room to be spilled stays in memory, and nobody need hear of it; nor if a commit finds none, ends a
            # checkpoint that is under way, and finds some then.
            is_tolerated = what == "error=ENOSPC" and any(each in workload for each in ("spill", "rewriting", "background"))
            # A history that cannot be made anew goes on in the file that it has; the first one has none.
            before = itertools.takewhile(lambda line: "(INJECTED)" not in line, (line for _, line in trace))
            has_history = any("rename" in line and "heap-history-new" in line for line in before)
            is_tolerated = is_tolerated or (has_history and "/heap-history-new>" in injected)
            self.assertIn(run.status, (expected, OK) if is_tolerated else (expected,), run.said)
            self.check(directory, workload, run.promise)
        shutil.rmtree(directory)

    def test_each_failed_sync_of_a_file_is_reported(self):
        for error in ("EIO", "ENOSPC"):
            self.at_calls("fdatasync", "error=" + error, REPORTED)

    def test_each_failed_sync_of_a_directory_is_reported(self):
        for error in ("EIO", "ENOSPC"):
            self.at_calls("fsync", "error=" + error, REPORTED)

    def test_each_failed_write_is_reported(self):
        for error in ("EIO", "ENOSPC"):
            self.at_calls("pwrite64", "error=" + error, REPORTED)

    def test_a_process_killed_at_any_call_loses_nothing_acknowledged(self):
        for call in self.CALLS:
            self.at_calls(call, "signal=KILL", -signal.SIGKILL)


if __name__ == "__main__":
    main()
