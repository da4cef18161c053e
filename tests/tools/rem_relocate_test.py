"""rem_relocate_test.py REM MAKE_HEAP SOURCE [unittest options]: heaps move to other addresses, or are refused."""

import os
import subprocess

from rem_support import ERROR, MAKE_HEAP, RemTest, main

GIB = 1 << 30


class relocate(RemTest):
    def base(self):
        return int(self.json("info", "--json", "book.rem")["base"], 16)

    def objects(self):
        """All lines of the dump but the first, which has the number of the commit."""
        return self.text("dump", "book.rem")[0].partition("\n")[2]

    def test_moves_all_pointers_and_says_where_they_lead_now(self):
        self.make()
        before = self.objects()
        said = self.json("relocate", "--json", "book.rem")
        self.assertEqual(sorted(said), ["base", "base_before", "path", "pointers"])
        self.assertNotEqual(said["base"], said["base_before"])
        self.assertEqual(self.base(), int(said["base"], 16))
        self.assertGreater(said["pointers"], 0)
        self.assertEqual(self.objects(), before)
        self.text("verify", "--leaks", "book.rem")
        self.assertEqual(os.listdir(os.path.dirname(self.heap)), ["book.rem"])

    def test_moves_to_the_address_that_is_asked_for_and_back(self):
        self.make()
        first = self.base()
        wanted = 0x2400 << 32
        self.assertRegex(self.text("relocate", "--base", hex(wanted), "book.rem")[0],
                         rf"^book\.rem: moved from {first:#x} to {wanted:#x}, \d+ pointers\n$")
        self.text("relocate", "--base", hex(first), "book.rem")
        self.assertEqual(self.base(), first)
        self.text("verify", "book.rem")

    def test_refuses_what_is_no_address(self):
        self.make()
        for wrong in [hex(GIB + 1), hex(1 << 46)]:
            self.assertIn("1 GiB", self.text("relocate", "--base", wrong, "book.rem", code=ERROR)[1])

    def test_refuses_a_heap_that_records_a_history(self):
        subprocess.run([MAKE_HEAP, self.heap, "history"], check=True)
        self.assertIn("history", self.text("relocate", "book.rem", code=ERROR)[1])

    def test_leaves_a_heap_that_is_open_elsewhere(self):
        self.hold()
        self.assertIn("open elsewhere", self.text("relocate", "book.rem", code=ERROR)[1])

    def test_makes_no_heap_where_there_is_none(self):
        self.assertIn("nothing", self.text("relocate", "nothing", code=ERROR)[1])


if __name__ == "__main__":
    main()
