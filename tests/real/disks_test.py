#!/usr/bin/env python3
"""The workloads on small ext4, XFS and Btrfs file systems in an image, mounted for the test, which meet with trouble.

usage: disks_test.py PROGRAM [unittest's arguments]

Everything is mounted in a mount namespace of this process, and the images have no names: nothing is left, however it
ends.

Rounds with random seeds: 276 power cuts and 828 kills, nothing lost; without syncs, all of 69 cuts were noticed.
"""
import ctypes
import errno
import fcntl
import functools
import os
import signal
import struct
import subprocess
import tempfile
import time

from real_support import *  # pylint: disable=wildcard-import,unused-wildcard-import

CLONE_NEWNS = 0x20000
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_IMMUTABLE_FL = 0x80086601, 0x40086602, 0x10


class CommandFailed(Exception):
    pass


def command(*words):
    """What was said against it; nothing when it succeeds."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return (done.stdout.strip() or f"{words[0]} ended with {done.returncode}") if done.returncode != 0 else None


def must(*words):
    if failure := command(*words):
        raise CommandFailed(f"{' '.join(words)}: {failure}")


def setUpModule():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise unittest.SkipTest("mounting is not allowed here: " + os.strerror(ctypes.get_errno()))
    if failure := command("mount", "--make-rprivate", "/"):
        raise unittest.SkipTest("mounting is not allowed here: " + failure)


@functools.cache
def promises_of(workload):
    return sum(line.startswith("told ") for line in operations_simulated(workload))


class Disk:
    """A mounted image, and the power that it may be cut off from."""

    def __init__(self, kind, mebibytes, *make):
        require(make[0])
        self.kind = kind
        self.image = tempfile.TemporaryFile()
        self.image.truncate(mebibytes << 20)
        self.name = f"/proc/{os.getpid()}/fd/{self.image.fileno()}"
        self.place = tempfile.TemporaryDirectory()
        self.is_mounted = False
        must(*make, self.name)
        try:
            self.mount()
        except CommandFailed as why:
            raise unittest.SkipTest(f"no {kind} can be mounted here: {why}")

    def path(self, name):
        return os.path.join(self.place.name, name)

    def mount(self):
        must("mount", "-t", self.kind, "-o", "loop", self.name, self.place.name)
        self.is_mounted = True

    def umount(self):
        must("umount", self.place.name)
        self.is_mounted = False

    def mount_again(self):
        """What the kernel had in memory of it is forgotten."""
        self.umount()
        self.mount()

    def remount(self, how):
        """What was said against it."""
        return command("mount", "-o", "remount," + how, self.place.name)

    def set_power(self, on):
        """Without power, every write to the image fails: it keeps what was written to it before."""
        flags = bytearray(8)
        fcntl.ioctl(self.image, FS_IOC_GETFLAGS, flags)
        value = struct.unpack("l", flags)[0] & ~FS_IMMUTABLE_FL
        fcntl.ioctl(self.image, FS_IOC_SETFLAGS, struct.pack("l", value if on else value | FS_IMMUTABLE_FL))

    def close(self):
        if self.is_mounted:
            self.umount()
        self.place.cleanup()
        self.image.close()


class OnDisk:
    """The tests, for each file system."""

    KILLS = 10
    CUTS = 3
    GROWING = ("bulk_commits", "growth", "log_growth")

    def setUp(self):
        self.random = repeating.randoms(self)
        self.disk = Disk(*self.KIND)
        self.addCleanup(self.disk.close)
        self.works = 0

    def work(self):
        self.works += 1
        return make_work_directory(self.disk.path("."), str(self.works))

    def run_for_a_while(self):
        """Some workload, at work now, about in the middle of it."""
        workload = self.random.choice(WORKLOADS)
        directory = self.work()
        run = self.start(directory, workload)
        for _ in range(self.random.randrange(promises_of(workload))):
            run.next_line()
        time.sleep(self.random.uniform(0, 0.001))
        return directory, workload, run

    def require_power_switch(self):
        try:
            self.disk.set_power(False)
            self.disk.set_power(True)
        except OSError as why:
            raise unittest.SkipTest(f"an image in {tempfile.gettempdir()} cannot be made immutable: {why}")

    def mount_after_cut(self):
        """As it was when the power was cut."""
        with self.assertRaises(OSError, msg="a write to an immutable image succeeds here"):
            make_work_directory(self.disk.path("."), "too late")
        self.disk.umount()
        self.disk.set_power(True)
        self.disk.mount()

    def fill(self):
        with open(self.disk.path("filler"), "ab") as file:
            for step in (16 << 20, 256 << 10, 4 << 10):
                try:
                    while True:
                        os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, step)
                except OSError as why:
                    self.assertEqual(why.errno, errno.ENOSPC)

    def make_room(self):
        os.remove(self.disk.path("filler"))

    def run_while_full(self, directory, workload):
        """The disk is full whenever the program goes on, and gets room when that says so. How often it did."""
        self.fill()
        run = self.start(directory, workload, steps=True)
        complaints = 0
        while what := run.next_line():
            if what == "full":
                complaints += 1
                self.make_room()
            else:
                self.fill()
            run.go_on()
        return run.end(), complaints

    def work_where_space_is_granted(self):
        return self.work()

    def test_every_workload_is_there_after_mounting_again(self):
        ended = []
        for workload in WORKLOADS:
            directory = self.work()
            run = self.start(directory, workload).end()
            self.assertEqual(run.status, OK, run.said)
            ended.append((directory, workload, run.promise))
        self.disk.mount_again()
        for each in ended:
            self.check(*each)

    def test_a_killed_process_loses_nothing_acknowledged(self):
        ended = []
        while len(ended) < self.KILLS:
            directory, workload, run = self.run_for_a_while()
            if run.kill().status == -signal.SIGKILL:
                ended.append((directory, workload, run.promise))
        self.disk.mount_again()
        for each in ended:
            self.check(*each)
        print(f"{self.disk.kind}: {len(ended)} of {self.works} runs killed")

    def test_a_power_cut_loses_nothing_acknowledged(self):
        self.require_power_switch()
        stopped = 0
        while stopped < self.CUTS:
            directory, workload, run = self.run_for_a_while()
            self.disk.set_power(False)
            run.end()
            self.assertIn(run.status, (OK, REPORTED), run.said)
            stopped += run.status == REPORTED
            self.mount_after_cut()
            self.check(directory, workload, run.promise)
        print(f"{self.disk.kind}: {stopped} of {self.works} runs stopped by a power cut")

    def test_a_power_cut_without_syncs_is_noticed(self):
        require("eatmydata")
        self.require_power_switch()
        directory = self.work()
        run = self.start(directory, "checkpoints", "eatmydata", steps=True)
        while run.promise.acknowledged < 10:
            if run.next_promise() == "opened":
                must("sync", "--file-system", directory)  # else there would not even be a heap
            run.go_on()
        self.disk.set_power(False)
        run.kill()
        self.mount_after_cut()
        status, said = check(directory, "checkpoints", run.promise)
        self.assertIn(status, (BROKEN_PROMISE, REPORTED), said)
        print(f"{self.disk.kind}, power cut without syncs: {said}")

    def test_a_full_disk_stops_nobody_who_is_given_room(self):
        ended = []
        for workload in self.GROWING:
            directory = self.work_where_space_is_granted()
            run, complaints = self.run_while_full(directory, workload)
            self.assertEqual(run.status, OK, run.said)
            self.assertGreater(complaints, 1)
            ended.append((directory, workload, run.promise))
            self.make_room()
        self.disk.mount_again()
        for each in ended:
            self.check(*each)

    def test_a_heap_on_a_disk_remounted_read_only_is_refused_and_kept(self):
        workload = "checkpoints"
        directory = self.work()
        run = self.start(directory, workload, steps=True)
        while run.promise.acknowledged < 7:
            run.next_promise()
            if run.promise.in_flight == 4:
                self.assertIn("busy", self.disk.remount("ro"))  # so says the kernel, since a file is open for writing
            run.go_on()
        run.kill()
        self.assertIsNone(self.disk.remount("ro"))
        status, said = check(directory, workload, run.promise)
        self.assertEqual(status, REPORTED, said)
        self.assertIn("mount the file system writable", said)
        self.assertIsNone(self.disk.remount("rw"))
        self.check(directory, workload, run.promise)


class Ext4(OnDisk, RealTest):
    KIND = "ext4", 160, "mkfs.ext4", "-q", "-m", "0", "-e", "remount-ro"


class Xfs(OnDisk, RealTest):
    KIND = "xfs", 300, "mkfs.xfs", "-q"


class Btrfs(OnDisk, RealTest):
    KIND = "btrfs", 512, "mkfs.btrfs", "-q"

    def work_where_space_is_granted(self):
        """Space that was reserved is enough for the first write only, unless copy-on-write is off."""
        directory = self.work()
        must("chattr", "+C", os.path.join(directory, "heaps"))
        return directory

    # A commit may find no room in what was reserved; it says so.
    def test_a_full_disk_with_copy_on_write_loses_nothing_acknowledged(self):
        ended = []
        reported = 0
        for workload in ("bulk_commits", "log_growth"):
            directory = self.work()
            run, _ = self.run_while_full(directory, workload)
            if run.status == REPORTED:
                reported += 1
                self.assertIn("is full, although it had granted the space", run.said)
                self.fill()
                status, said = check(directory, workload, run.promise)
                if status != OK:
                    self.assertEqual(status, REPORTED, said)
                    self.assertIn("Make room", said)
            else:
                self.assertEqual(run.status, OK, run.said)
            ended.append((directory, workload, run.promise))
            self.make_room()
        self.disk.mount_again()
        for each in ended:
            self.check(*each)
        print(f"{self.disk.kind}: {reported} of {len(ended)} runs stopped by a full disk")


if __name__ == "__main__":
    main()
