"""rem_shrink_test.py REM MAKE_HEAP SOURCE [unittest options]: files as short as what their heaps hold."""

import os
import subprocess

from rem_support import ERROR, MAKE_HEAP, RemTest, main


class shrink(RemTest):
    def test_ends_the_file_behind_what_is_in_use_and_says_how_long_it_was(self):
        self.make("freed")
        long = os.path.getsize(self.heap)
        self.assertGreater(long, 8 << 20)
        said = self.json("shrink", "--json", "book.rem")
        self.assertEqual(said, {"path": "book.rem", "file_bytes_before": long, "file_bytes": os.path.getsize(self.heap)})
        self.assertLess(said["file_bytes"], 1 << 20)
        self.assertFalse(os.path.exists(self.log))
        self.text("verify", "book.rem")
        self.assertEqual(self.text("get", "book.rem", "left")[0], "5\n")
        self.assertIn("no shorter than before", self.text("shrink", "book.rem")[0])

    def test_prints_both_lengths(self):
        self.make("freed")
        self.assertRegex(self.text("shrink", "book.rem")[0], r"^book\.rem: [\d.]+ KiB, was [\d.]+ MiB\n$")

    def test_leaves_a_heap_that_is_open_elsewhere(self):
        self.hold()
        before = os.path.getsize(self.heap)
        self.assertIn("open elsewhere", self.text("shrink", "book.rem", code=ERROR)[1])
        self.assertEqual(os.path.getsize(self.heap), before)

    def test_leaves_a_heap_that_processes_share(self):
        self.make()
        self.start("shared_idle")
        before = os.path.getsize(self.heap)
        self.rem("shrink", "book.rem", code=ERROR)
        self.assertEqual(os.path.getsize(self.heap), before)

    def test_leaves_a_heap_that_has_a_history(self):
        subprocess.run([MAKE_HEAP, self.heap, "history"], check=True)
        steps = self.json("log", "--json", "book.rem")["steps"]
        self.assertIn("has a history", self.text("shrink", "book.rem", code=ERROR)[1])
        self.assertEqual(self.json("log", "--json", "book.rem")["steps"], steps)

    def test_makes_no_heap_where_there_is_none(self):
        self.assertIn("nothing", self.text("shrink", "nothing", code=ERROR)[1])
        self.assertFalse(os.path.exists(self.path("nothing")))


if __name__ == "__main__":
    main()
