"""rem_readers_test.py REM MAKE_HEAP SOURCE [unittest options]: who has a heap open; heaps that processes share."""

import os
import subprocess

from rem_support import DAMAGE, ERROR, MAKE_HEAP, OK, REM, ROOTS, RemTest, main


class SharedTest(RemTest):
    def start_busy(self):
        busy = subprocess.Popen([MAKE_HEAP, self.heap, "shared_busy"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(busy.stdout.close)
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        busy.stdout.readline()
        return busy


class readers(SharedTest):
    def users(self):
        return self.json("readers", "--json", "book.rem")

    def by_process(self):
        return {each["process"]: each for each in self.users()["processes"]}

    def test_of_a_closed_heap_are_none(self):
        self.make()
        before = self.state()
        self.assertEqual(
            self.users(), {"path": self.heap, "open_as": "closed", "version": None, "processes": []}
        )
        self.assertEqual(self.text("readers", "book.rem")[0], f"{self.heap}: nobody has it open\n")
        self.assertEqual(self.state(), before)

    def test_of_a_heap_whose_program_died_are_none(self):
        self.make("killed")
        self.assertEqual(self.users()["open_as"], "closed")

    def test_of_an_exclusive_heap_is_the_one_that_has_it(self):
        self.hold()
        got = self.users()
        self.assertEqual((got["open_as"], len(got["processes"])), ("exclusive", 1))
        holder = got["processes"][0]
        self.assertEqual((holder["process"], holder["program"], holder["does"]), (self.holder.pid, "make_heap", "exclusive"))
        self.assertIn("open in one process, for writing", self.text("readers", "book.rem")[0])

    def test_of_a_shared_heap_are_all_with_what_they_do(self):
        self.make()
        idle = self.start("shared_idle")
        reader = self.start("shared_reader")
        writer = self.start("shared_writer")
        got = self.users()
        self.assertEqual(got["open_as"], "shared")
        does = {each["process"]: each["does"] for each in got["processes"]}
        self.assertEqual(does, {idle.pid: "idle", reader.pid: "reads", writer.pid: "writes"})
        self.assertEqual({each["program"] for each in got["processes"]}, {"make_heap"})
        reads = self.by_process()[reader.pid]
        self.assertEqual((reads["reads_version"], reads["versions_behind"]), (got["version"], 0))
        self.assertIsNotNone(reads["milliseconds"])
        self.assertIsNone(self.by_process()[idle.pid]["milliseconds"])
        self.assertIsNone(self.by_process()[writer.pid]["reads_version"])
        text = self.text("readers", "book.rem")[0]
        self.assertIn("shared, open in 3 places", text)
        self.assertRegex(text, rf"(?m)^ *{reader.pid}  make_heap  reads +{got['version']} +0 +\d")
        self.end(writer)
        self.assertNotIn(writer.pid, self.by_process())

    def test_that_may_only_read_are_told_while_they_are_in_a_section(self):
        self.make()
        idle = self.start("shared_idle")
        guest = self.start("shared_guest")
        self.assertEqual(set(self.by_process()), {idle.pid, guest.pid})
        reads = self.by_process()[guest.pid]
        self.assertEqual((reads["does"], reads["program"], reads["reads_version"]), ("reads", "make_heap", 10))
        self.assertIsNone(reads["milliseconds"])
        self.end(guest)
        self.assertEqual(set(self.by_process()), {idle.pid})

    def test_that_others_have_left_behind_are_told_by_how_much(self):
        self.make()
        reader = self.start("shared_reader")
        busy = self.start_busy()
        for _ in range(5):
            busy.stdout.readline()
        reads = self.by_process()[reader.pid]
        self.assertGreaterEqual(reads["versions_behind"], 5)
        first = reads["milliseconds"]
        busy.stdout.readline()
        self.assertGreaterEqual(self.by_process()[reader.pid]["milliseconds"], first)

    def test_that_died_are_not_told_of(self):
        self.make()
        idle = self.start("shared_idle")
        busy = self.start_busy()
        self.assertEqual(set(self.by_process()), {idle.pid, busy.pid})
        busy.kill()
        busy.wait()
        self.assertEqual(set(self.by_process()), {idle.pid})

    def test_of_something_else_is_an_error(self):
        with open(self.heap, "wb") as file:
            file.write(b"x" * 10000)
        self.assertIn("is not a heap", self.text("readers", "book.rem", code=ERROR)[1])
        self.assertIn("cannot open", self.text("readers", "none.rem", code=ERROR)[1])

    def test_of_a_heap_with_another_name_says_so(self):
        self.make()
        os.link(self.heap, self.path("other.rem"))
        self.start("shared_idle")
        self.assertIn("under another name", self.text("readers", "other.rem", code=ERROR)[1])


class shared_heap(SharedTest):
    """Whoever shares a heap locks out nobody who only looks, and is not locked out."""

    def test_is_told_of_as_of_its_last_commit(self):
        self.make()
        self.start("shared_reader")
        self.start("shared_writer")
        got = self.json("info", "--json", "book.rem")
        self.assertEqual(got["clean"], False)
        self.assertIn("another program has it open", self.text("info", "book.rem")[0])
        self.assertEqual([root["name"] for root in self.json("ls", "--json", "book.rem")["roots"]], ROOTS)
        self.assertTrue(self.json("verify", "--json", "book.rem")["whole"])
        self.json("stat", "--json", "book.rem")
        self.rem("copy", "book.rem", "copy.rem")
        self.assertTrue(self.json("verify", "--json", "copy.rem")["whole"])

    def test_that_is_damaged_is_told_to_be(self):
        self.make()
        self.start("shared_idle")
        at = self.place_in_file(self.places["elements"] + 100_000)
        self.flip(at)
        got = self.json("verify", "--json", "book.rem", code=DAMAGE)
        self.assertEqual([problem["offset"] for problem in got["problems"]], [at // 4096 * 4096])

    def test_is_not_replaced_by_a_copy(self):
        self.make()
        self.make(name="other.rem")
        self.start("shared_idle")
        self.assertIn("is open elsewhere", self.text("copy", "--force", "other.rem", "book.rem", code=ERROR)[1])

    def test_is_not_upgraded(self):
        self.make()
        self.start("shared_idle")
        self.assertIn("is open elsewhere", self.text("upgrade", "book.rem", code=ERROR)[1])

    def test_that_is_written_to_all_the_time_is_read_and_copied_and_none_of_it_is_called_damaged(self):
        """Checkpoints apply beside it, and whoever joins while rem looks is not kept out."""
        busy = self.start_busy()
        for round in range(6):
            # Busy for all of a number of attempts is an error, damage never is told.
            done = subprocess.run([REM, "verify", self.heap], capture_output=True)
            self.assertIn(done.returncode, (OK, ERROR), done.stdout + done.stderr)
            done = subprocess.run([REM, "copy", "--force", self.heap, self.path("copy.rem")], capture_output=True)
            self.assertIn(done.returncode, (OK, ERROR), done.stdout + done.stderr)
            if done.returncode == OK:
                number = subprocess.run([MAKE_HEAP, self.path("copy.rem"), "same"], capture_output=True, check=True)
                self.assertNotEqual(int(number.stdout), 0, "a copy mixes commits")
        self.assertIsNone(busy.poll())


if __name__ == "__main__":
    main()
