"""rem_live_test.py REM MAKE_HEAP SOURCE [unittest options]: heaps that another program has open for writing.

A run: 60 copies while 1,693 commits were made, none given up, and 59 verifications.
"""

import json
import subprocess
import threading
import time

from rem_support import DAMAGE, ERROR, MAKE_HEAP, OK, REM, ROOTS, RemTest, main


class live_heap(RemTest):
    def test_is_told_of_as_of_its_last_commit(self):
        self.hold()
        got = self.json("info", "--json", "book.rem")
        self.assertEqual((got["version"], got["checkpoint_version"], got["clean"]), (10, 0, False))
        self.assertIn("another program has it open", self.text("info", "book.rem")[0])
        self.assertEqual([root["name"] for root in self.json("ls", "--json", "book.rem")["roots"]], ROOTS)
        self.assertTrue(self.json("verify", "--json", "book.rem")["whole"])

    def test_is_copied_and_left_alone(self):
        self.hold()
        before = self.state()
        self.rem("copy", "book.rem", "copy.rem")
        self.assertEqual(self.rem("copy", "book.rem", "-").stdout, self.read(self.path("copy.rem")))
        after = self.state()
        self.assertTrue(after.pop("copy.rem"))
        self.assertEqual(after, before)
        got = self.json("verify", "--json", "copy.rem")
        self.assertEqual((got["whole"], got["version"], got["log_records_checked"]), (True, 10, 0))

    def test_that_is_damaged_is_told_to_be_and_not_copied(self):
        self.hold()
        places = self.places
        at = self.place_in_file(places["elements"] + 100_000)
        self.flip(at)
        before = self.state()
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertEqual([problem["offset"] for problem in got["problems"]], [at // 4096 * 4096])
        self.assertEqual({root["name"] for root in got["roots"] if root["state"] != "whole"}, {"numbers"})
        self.rem("copy", "book.rem", "copy.rem", code=DAMAGE)
        self.rem("copy", "book.rem", "-", code=DAMAGE)
        self.assertEqual(self.state(), before)

    def test_that_starts_while_rem_copies_is_not_kept_from_it(self):
        """Nothing of the copy is read, so that rem waits in the midst of it."""
        self.make()
        rem = subprocess.Popen([REM, "copy", self.heap, "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(rem.stderr.close)
        self.addCleanup(rem.stdout.close)
        began = rem.stdout.read(1)
        subprocess.run([MAKE_HEAP, self.heap, "reopen"], check=True)
        copied = began + rem.stdout.read()
        self.assertEqual((rem.wait(), rem.stderr.read()), (OK, b""))  # no commit came in between
        with open(self.path("copy.rem"), "wb") as file:
            file.write(copied)
        self.rem("verify", "copy.rem")

    def test_that_starts_and_commits_while_rem_copies_wins(self):
        self.make()
        rem = subprocess.Popen([REM, "copy", self.heap, "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(rem.stderr.close)
        self.addCleanup(rem.stdout.close)
        rem.stdout.read(1)
        subprocess.run([MAKE_HEAP, self.heap, "rewrite"], check=True)
        rem.stdout.read()
        said = rem.stderr.read().decode()
        self.assertEqual(rem.wait(), ERROR, said)
        self.assertIn("was written to while it was copied", said)
        self.assertTrue(self.json("verify", "--json", "book.rem")["whole"])

    def test_that_is_open_is_told_with_the_process_that_holds_it(self):
        self.hold()
        done = subprocess.run([MAKE_HEAP, self.heap, "reopen"], capture_output=True, text=True)
        self.assertIn(f"another process, {self.holder.pid} (make_heap), holds its lock", done.stderr)

    def keep_busy(self):
        """A program that commits and checkpoints as fast as it can, and a list of the last number that it committed."""
        process = subprocess.Popen([MAKE_HEAP, self.heap, "busy"], stdout=subprocess.PIPE, text=True)
        acknowledged = [0]

        def listen():
            for line in process.stdout:
                acknowledged[0] = int(line)

        listener = threading.Thread(target=listen)
        listener.start()

        def end():
            process.kill()
            process.wait()
            listener.join()
            process.stdout.close()

        self.addCleanup(end)
        while acknowledged[0] < 5:
            time.sleep(0.01)
        return process, acknowledged

    def test_that_is_damaged_is_told_to_be_although_it_is_written_to_as_fast_as_possible(self):
        """And of nothing else is it said."""
        process, acknowledged = self.keep_busy()
        still = b"still\0\0\0" * (3 * 65536 // 8)  # in the middle of it lies a chunk with nothing else
        while (at := self.read().find(still)) < 0:
            time.sleep(0.01)
        at = (at + len(still) // 2) // 4096 * 4096
        self.flip(at + 8)
        told, given_up, attempts = 0, 0, 0
        while told <= 10:  # on a busy machine few attempts are made just as the heap is written to
            attempts += 1
            before = acknowledged[0]
            done = subprocess.run([REM, "verify", "--json", self.heap], capture_output=True, text=True)
            self.assertIn(done.returncode, (DAMAGE, ERROR), done.stdout + done.stderr)
            if done.returncode == ERROR:
                self.assertIn("faster than it can be read", json.loads(done.stdout)["error"])
                given_up += 1
                continue
            got = json.loads(done.stdout)
            self.assertEqual([(problem["file"], problem["offset"]) for problem in got["problems"]], [(self.heap, at)])
            told += acknowledged[0] > before
            self.assertEqual(subprocess.run([REM, "copy", self.heap, "-"], capture_output=True).returncode, DAMAGE)
        self.assertIsNone(process.poll(), "the writer noticed")
        print(f"{told} of {attempts} times told to be damaged while it was written to, {given_up} given up")

    def test_that_is_written_to_as_fast_as_possible_is_copied_whole(self):
        """Each copy holds exactly one commit, none older than the last one acknowledged before the copy began."""
        process, acknowledged = self.keep_busy()
        copied, given_up, later, looked_at, attempts = 0, 0, 0, 0, 0
        while attempts < 60 or copied <= 30:
            attempts += 1
            before = acknowledged[0]
            done = subprocess.run(
                [REM, "copy", "--force", self.heap, self.path("copy.rem")], capture_output=True, text=True
            )
            if done.returncode == ERROR:
                self.assertIn("faster than it can be read", done.stderr)
                given_up += 1
                continue
            self.assertEqual((done.returncode, done.stderr), (OK, ""))
            self.rem("verify", "copy.rem")
            number = int(subprocess.run([MAKE_HEAP, self.path("copy.rem"), "same"], capture_output=True, check=True).stdout)
            self.assertGreaterEqual(number, before)
            copied += 1
            later += number > before
            seen = subprocess.run([REM, "verify", self.heap], capture_output=True, text=True)
            self.assertIn(seen.returncode, (OK, ERROR), seen.stdout + seen.stderr)
            looked_at += seen.returncode == OK
        self.assertIsNone(process.poll(), "the writer noticed")
        print(
            f"{copied} copies of {acknowledged[0]} commits, {later} of one made meanwhile; {given_up} given up; "
            f"{looked_at} verified while live"
        )


if __name__ == "__main__":
    main()
