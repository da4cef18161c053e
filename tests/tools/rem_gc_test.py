"""rem_gc_test.py REM MAKE_HEAP SOURCE [unittest options]: what no root reaches is freed, or said to be."""

import subprocess

from rem_support import ERROR, LEAKS, MAKE_HEAP, RemTest, main


class gc(RemTest):
    def test_frees_what_no_root_reaches_and_says_how_much(self):
        self.make("stray")
        self.rem("verify", "--leaks", "book.rem", code=LEAKS)
        tried = self.json("gc", "--dry-run", "--json", "book.rem")
        self.assertEqual(tried, {"path": "book.rem", "dry_run": True, "blocks": 1, "bytes": 8})
        self.assertEqual(self.text("gc", "--dry-run", "book.rem")[0], "book.rem: would free 1 block of 8 bytes that no root reaches\n")
        self.rem("verify", "--leaks", "book.rem", code=LEAKS)
        self.assertEqual(self.text("gc", "book.rem")[0], "book.rem: freed 1 block of 8 bytes that no root reached\n")
        self.assertIn("roots reach all blocks", self.text("verify", "--leaks", "book.rem")[0])
        self.assertIn("roots reach all blocks", self.text("gc", "book.rem")[0])

    def test_is_a_step_of_the_history(self):
        subprocess.run([MAKE_HEAP, self.heap, "history"], check=True)
        steps = self.json("log", "--json", "book.rem")["steps"]
        said = self.json("gc", "--json", "book.rem")
        later = self.json("log", "--json", "book.rem")["steps"]
        self.assertEqual(len(later), len(steps) + (1 if said["blocks"] else 0))

    def test_refuses_what_it_cannot_be_certain_of_and_names_it(self):
        self.make("hidden")
        before = self.json("verify", "--json", "book.rem")
        self.assertIn("cannot be found for certain", self.text("gc", "book.rem", code=ERROR)[1])
        self.assertIn("cannot be found for certain", self.text("gc", "--dry-run", "book.rem", code=ERROR)[1])
        self.assertEqual(self.json("verify", "--json", "book.rem"), before)

    def test_leaves_a_heap_that_is_open_elsewhere(self):
        self.hold()
        self.assertIn("open elsewhere", self.text("gc", "book.rem", code=ERROR)[1])

    def test_makes_no_heap_where_there_is_none(self):
        self.assertIn("nothing", self.text("gc", "nothing", code=ERROR)[1])


if __name__ == "__main__":
    main()
