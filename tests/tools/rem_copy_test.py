"""rem_copy_test.py REM MAKE_HEAP SOURCE [unittest options]: copy of closed heaps, and of those whose program died."""

import os
import resource
import shutil
import signal
import subprocess
import time

from rem_support import ERROR, MAKE_HEAP, OK, REM, USAGE, RemTest, main


ATTEMPTS = 1000  # to meet a copy that is under way; on a busy machine many are done first


class copy(RemTest):
    def begin_copy(self):
        """The process that copies the heap to copy.rem, once it has written something; or has ended already."""
        process = subprocess.Popen([REM, "copy", self.heap, "copy.rem"], cwd=self.directory)
        while process.poll() is None and not self.size_of("copy.rem-new"):
            time.sleep(0.0005)
        return process

    def size_of(self, name):
        try:
            return os.path.getsize(self.path(name))
        except FileNotFoundError:
            return 0

    def test_of_a_closed_heap_is_equal_to_it(self):
        self.make()
        self.assertEqual(self.text("copy", "book.rem", "copy.rem"), ("", ""))
        self.assertEqual(self.read(self.path("copy.rem")), self.read())
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_of_a_heap_without_a_commit_is_equal_to_it(self):
        subprocess.run([MAKE_HEAP, self.path("empty.rem"), "empty"], check=True)
        self.rem("copy", "empty.rem", "copy.rem")
        self.assertEqual(self.read(self.path("copy.rem")), self.read(self.path("empty.rem")))
        self.assertEqual(self.json("verify", "--json", "copy.rem")["roots"], [])

    def test_of_a_killed_programs_heap_holds_its_last_commit_and_leaves_it_alone(self):
        self.make("killed")
        before = self.state()
        self.rem("copy", "book.rem", "copy.rem")
        after = self.state()
        self.assertTrue(after.pop("copy.rem"))
        self.assertEqual(after, before)
        got = self.json("info", "--json", "copy.rem")
        self.assertEqual((got["version"], got["clean"], got["log"]["present"]), (10, True, False))

    def test_is_what_a_recovery_of_the_heap_itself_makes(self):
        self.make("killed")
        self.rem("copy", "book.rem", "copy.rem")
        subprocess.run([MAKE_HEAP, self.heap, "reopen"], check=True)
        self.assertFalse(os.path.exists(self.log))
        self.assertEqual(self.read(self.path("copy.rem")), self.read())

    def test_keeps_holes_and_permissions(self):
        self.make()
        os.chmod(self.heap, 0o640)
        self.rem("copy", "book.rem", "copy.rem")
        status = os.stat(self.path("copy.rem"))
        self.assertEqual(status.st_mode & 0o777, 0o640)
        self.assertLess(status.st_blocks * 512, status.st_size - 1_000_000)

    def test_goes_through_a_pipe(self):
        self.make("killed")
        self.rem("copy", "book.rem", "copy.rem")
        self.assertEqual(self.rem("copy", "book.rem", "-").stdout, self.read(self.path("copy.rem")))

    def test_to_a_pipe_whose_reader_goes_away_is_an_error(self):
        self.make()
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([REM, "copy", self.heap, "-"], stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        self.assertEqual(done.returncode, ERROR)
        self.assertIn(b"Broken pipe", done.stderr)

    def test_to_a_full_output_is_an_error(self):
        self.make()
        with open("/dev/full", "wb") as full:
            for words in (["copy", "book.rem", "-"], ["info", "book.rem"], ["ls", "book.rem"], ["verify", "book.rem"]):
                done = subprocess.run([REM, *words], stdout=full, stderr=subprocess.PIPE, cwd=self.directory)
                self.assertEqual(done.returncode, ERROR, words)
                self.assertIn(b"standard output", done.stderr)

    def test_of_the_help_to_a_full_output_is_an_error(self):
        for words in (["--help"], ["--version"], ["copy", "--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([REM, *words], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, ERROR, words)
            self.assertIn(b"standard output", done.stderr)

    def test_that_somebody_makes_already_is_said_to_be_under_way(self):
        subprocess.run([MAKE_HEAP, self.heap, "large"], check=True)
        for _ in range(ATTEMPTS):  # until the second comes in time
            first = self.begin_copy()
            first.send_signal(signal.SIGSTOP)
            second = subprocess.run([REM, "copy", self.heap, "copy.rem"], cwd=self.directory, capture_output=True)
            first.send_signal(signal.SIGCONT)
            self.assertEqual(first.wait(), OK)
            if b"just being created" in second.stderr:
                break
            os.remove(self.path("copy.rem"))
        else:
            self.fail("all copies were done before another could meet them")
        self.assertEqual(second.returncode, ERROR)
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_to_no_name_or_to_a_directory_is_refused(self):
        self.make()
        self.assertIn("the name is empty", self.text("copy", "book.rem", "", code=USAGE)[1])
        self.assertIn("names a directory", self.text("copy", "book.rem", "missing/", code=ERROR)[1])
        self.assertEqual(os.listdir(self.directory), ["book.rem"])

    def test_does_not_overwrite_unless_forced(self):
        self.make()
        with open(self.path("copy.rem"), "w") as file:
            file.write("precious")
        _, err = self.text("copy", "book.rem", "copy.rem", code=ERROR)
        self.assertIn("--force", err)
        self.assertEqual(self.read(self.path("copy.rem")), b"precious")
        self.rem("copy", "--force", "book.rem", "copy.rem")
        self.assertEqual(self.read(self.path("copy.rem")), self.read())
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_onto_itself_is_refused(self):
        self.make()
        os.link(self.heap, self.path("link.rem"))
        before = self.read()
        for to in ("book.rem", "./book.rem", "link.rem"):
            self.assertIn("same file", self.text("copy", "--force", "book.rem", to, code=ERROR)[1])
        self.assertEqual(self.read(), before)

    def test_onto_a_heap_in_use_is_refused(self):
        self.hold()
        self.make(name="other.rem")
        before = self.read()
        said = self.text("copy", "--force", "other.rem", "book.rem", code=ERROR)[1]
        self.assertIn(f"book.rem is open elsewhere: another process, {self.holder.pid} (make_heap), holds", said)
        self.assertEqual(self.read(), before)

    def test_beside_a_log_is_refused(self):
        self.make("killed")
        self.make(name="other.rem")
        os.remove(self.heap)
        self.assertIn("in the way", self.text("copy", "--force", "other.rem", "book.rem", code=ERROR)[1])
        self.assertFalse(os.path.exists(self.heap))

    def test_where_nothing_can_be_written_is_an_error(self):
        self.make()
        for to in ("/sys/copy.rem", "no/such/directory/copy.rem", "."):
            _, err = self.text("copy", "book.rem", to, code=ERROR)
            self.assertTrue(err.startswith("rem: "), err)
        self.assertEqual(os.listdir(self.directory), ["book.rem"])

    def test_that_outgrows_its_limit_leaves_what_was_there(self):
        self.make()
        with open(self.path("copy.rem"), "w") as file:
            file.write("precious")
        done = self.rem(
            "copy",
            "--force",
            "book.rem",
            "copy.rem",
            code=ERROR,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        )
        self.assertIn(b"File too large", done.stderr)
        self.assertEqual(self.read(self.path("copy.rem")), b"precious")
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem", "copy.rem"])

    def test_to_where_the_heaps_own_log_belongs_is_refused(self):
        self.make()
        before = self.read(self.path("book.rem"))
        for force in [[], ["--force"]]:
            done = self.rem("copy", *force, "book.rem", "book.rem-log", code=ERROR)
            self.assertIn(b"redo log", done.stderr)
        self.assertEqual(sorted(os.listdir(self.directory)), ["book.rem"])
        self.assertEqual(self.read(self.path("book.rem")), before)

    def test_to_a_full_disk_leaves_nothing_behind(self):
        self.make()
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode:
            self.skipTest("this machine or container does not let us mount a file system")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        _, err = self.text("copy", "book.rem", "disk/copy.rem", code=ERROR)
        self.assertIn("No space left", err)
        self.assertEqual(os.listdir(disk), [])

    def test_that_is_interrupted_leaves_nothing_behind(self):
        subprocess.run([MAKE_HEAP, self.heap, "large"], check=True)
        for _ in range(ATTEMPTS):  # until a signal comes in time
            process = self.begin_copy()
            process.terminate()
            if process.wait() == -signal.SIGTERM:
                break
            os.remove(self.path("copy.rem"))
        else:
            self.fail("all copies were done before a signal could reach them")
        self.assertEqual(os.listdir(self.directory), ["book.rem"])

    def test_goes_over_what_an_interrupted_one_left(self):
        self.make()
        with open(self.path("copy.rem-new"), "wb") as file:
            file.write(b"\x89REMC\r\n\x1a" + b"\0" * 8184 + b"x" * 5_000_000)
        self.rem("copy", "book.rem", "copy.rem")
        self.assertEqual(self.read(self.path("copy.rem")), self.read())

    def test_goes_over_no_heap_and_no_file_of_somebody_else(self):
        self.make()
        self.make(name="other.rem")
        for name in ("other.rem", os.path.basename(__file__)):
            shutil.copy(self.path(name) if name == "other.rem" else __file__, self.path("copy.rem-new"))
            before = self.read(self.path("copy.rem-new"))
            self.assertIn("the name under which the new heap is built", self.text("copy", "book.rem", "copy.rem", code=ERROR)[1])
            self.assertEqual(self.read(self.path("copy.rem-new")), before)

    def test_to_where_another_heaps_log_belongs_is_refused(self):
        self.make()
        self.make(name="other.rem")
        before = self.state()
        self.assertIn("redo log", self.text("copy", "--force", "book.rem", "other.rem-log", code=ERROR)[1])
        self.assertEqual(self.state(), before)


if __name__ == "__main__":
    main()
