"""rem_stat_test.py REM MAKE_HEAP SOURCE [unittest options]: what rem stat tells, compared with what else is known."""

import subprocess

from rem_support import DAMAGE, ERROR, MAKE_HEAP, RemTest, main


class stat(RemTest):
    def stat(self, name="book.rem", code=0):
        return self.json("stat", "--json", name, code=code)

    def test_counts_what_the_log_changes(self):
        self.make("killed")
        log = self.stat()["log"]
        info = self.json("info", "--json", "book.rem")["log"]
        self.assertEqual({key: log[key] for key in info}, info)
        self.assertEqual(log["commits"], 10)
        self.assertGreater(log["whole_pages"] * 4096, 40_000 * 8)  # of the numbers
        self.assertGreater(log["changed_pages"], 3)
        self.assertLess(log["changed_bytes"], log["record_bytes"])

    def test_finds_nothing_in_a_log_that_is_applied(self):
        self.make()
        found = self.stat()
        self.assertEqual((found["version"], found["checkpoint_version"]), (10, 10))
        self.assertEqual(set(found["log"].values()), {0, False})
        self.assertIn("none: all commits are in the image", self.text("stat", "book.rem")[0])

    def test_sums_fit_each_other_and_what_info_and_verify_say(self):
        self.make()
        memory = self.stat()["memory"]
        info = self.json("info", "--json", "book.rem")
        self.assertEqual(memory["allocated_bytes"], info["allocated_bytes"])
        self.assertEqual(memory["slab_free_bytes"] + memory["free_run_bytes"], info["free_bytes"])
        self.assertEqual(memory["block_count"], self.json("verify", "--json", "book.rem")["blocks_checked"])
        classes = memory["size_classes"]
        self.assertEqual(sum(each["block_count"] for each in classes), memory["block_count"])
        self.assertEqual(sum(each["bytes"] for each in classes), memory["allocated_bytes"])
        for each in classes:
            self.assertLessEqual(each["bytes"], each["block_count"] * each["bytes_max"])
            self.assertGreater(each["bytes"], each["block_count"] * each["bytes_max"] // 2)
        self.assertLessEqual(memory["longest_free_run_bytes"], memory["free_run_bytes"])
        self.assertGreater(memory["free_run_count"], 0)  # the numbers grew, and left shorter blocks behind
        self.assertTrue(0 < memory["availability"] < 1)
        self.assertTrue(0 < memory["page_efficiency"] <= 1)

    def test_counts_a_large_block_as_one(self):
        subprocess.run([MAKE_HEAP, self.heap, "large"], check=True)
        memory = self.stat()["memory"]
        self.assertEqual(memory["size_classes"][-1], {"bytes_max": 2**28, "block_count": 1, "bytes": 2**28})
        self.assertTrue(0 < memory["metadata_bytes"] < 2**20)  # most of the room for structures was never written
        self.assertGreater(memory["page_efficiency"], 0.99)
        text = self.text("stat", "book.rem")[0]
        self.assertRegex(text, r"(?m)^ +256 MiB +1 +256 MiB$")
        self.assertRegex(text, r"(?m)^  allocated +256 MiB in \d+ blocks, \d+\.\d % of the pages taken$")

    def test_reads_a_heap_that_nothing_was_committed_to(self):
        subprocess.run([MAKE_HEAP, self.heap, "empty"], check=True)
        memory = self.stat()["memory"]
        self.assertEqual(memory["size_classes"], [])
        shares = {memory.pop("availability"), memory.pop("page_efficiency")}
        self.assertEqual(shares, {1})
        self.assertEqual({value for value in memory.values() if value != []}, {0})
        self.assertIn("0 bytes in 0 blocks", self.text("stat", "book.rem")[0])

    def test_reads_a_heap_that_is_open_for_writing(self):
        self.hold()
        found = self.stat()
        self.assertEqual(found["version"], 10)
        self.assertEqual(found["log"]["commits"], 10)
        self.assertGreater(found["memory"]["block_count"], 100)

    def test_changes_nothing(self):
        self.make("killed")
        before = self.state()
        self.stat()
        self.assertEqual(self.state(), before)

    def test_tells_of_damaged_structures_and_says_the_rest(self):
        self.make()
        self.flip(self.place_in_file(4096 + 16 * 20))  # a page descriptor
        found = self.stat(code=DAMAGE)
        self.assertIsNone(found["memory"])
        self.assertEqual(found["version"], 10)
        self.assertEqual(len(found["problems"]), 1)
        text, err = self.text("stat", "book.rem", code=DAMAGE)
        self.assertIn("not known: the allocator's structures are damaged", text)
        self.assertIn('"rem verify" says what of it is whole', err)

    def test_passes_over_damage_of_contents(self):
        self.make()
        self.flip(self.place_in_file(self.places["elements"]))
        self.assertEqual(self.stat()["problems"], [])

    def test_says_when_there_is_no_heap(self):
        out, err = self.text("stat", "nothing.rem", code=ERROR)
        self.assertEqual(out, "")
        self.assertIn("nothing.rem", err)


if __name__ == "__main__":
    main()
