"""Runs the example programs as a user would, in an empty directory: examples_test.py PROGRAM CLASS [unittest options]."""

import fcntl
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

PROGRAM = ""


class Example(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_program(self, *words):
        """What it prints; it must succeed and complain of nothing."""
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.directory,
            env={**os.environ, "TMPDIR": self.directory},
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def rem(self, *words, read=""):
        """What the program rem prints; it must succeed. It reads `read`."""
        done = subprocess.run(
            [os.environ["REM"], *words], cwd=self.directory, capture_output=True, text=True, input=read
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def files(self):
        return sorted(os.listdir(self.directory))


class caesar(Example):
    def test_shifts_the_same_list_by_three_in_each_run(self):
        self.assertEqual(self.run_program(), "Ghfhpehu#43wk#4;48\n")
        self.assertEqual(self.run_program(), "Jkikshkx&76zn&7>7;\n")
        self.assertEqual(self.files(), ["caesar.rem"])

    def test_keeps_a_list_for_each_file(self):
        self.run_program()
        self.assertEqual(self.run_program("other"), "Ghfhpehu#43wk#4;48\n")
        self.assertEqual(self.files(), ["caesar.rem", "other"])


class shapes(Example):
    def test_calls_the_functions_of_shapes_that_earlier_runs_have_made(self):
        self.assertEqual(self.run_program("shapes.rem", "square", "3"), "square: 9\n")
        self.assertEqual(self.run_program("shapes.rem", "circle", "1"), "square: 9\ncircle: 3.14159\n")
        self.run_program("shapes.rem", "group")
        self.run_program("shapes.rem", "square", "2")
        self.assertEqual(
            self.run_program("shapes.rem"), "group: 12.1416\n  square: 9\n  circle: 3.14159\nsquare: 4\n"
        )
        self.assertEqual(self.rem("get", "shapes.rem", "shapes[0].parts_[1].radius_"), "1\n")
        self.rem("load", "loaded.rem", read=self.rem("dump", "shapes.rem"))
        self.assertEqual(self.run_program("loaded.rem"), self.run_program("shapes.rem"))


class address_book(Example):
    ENTRY = ("Lovelace", "12 St James's Square", "London", "1815")

    def fails(self, status, *words):
        done = subprocess.run([PROGRAM, *words], cwd=self.directory, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        return done.stderr

    def test_adds_finds_lists_and_removes(self):
        self.run_program("book", "add", *self.ENTRY)
        self.run_program("book", "add", "Babbage", "1 Dorset Street", "London", "1791")
        line = "\t".join(self.ENTRY) + "\n"
        self.assertEqual(self.run_program("book", "find", "Lovelace"), line)
        self.assertEqual(self.run_program("book", "list"), "Babbage\t1 Dorset Street\tLondon\t1791\n" + line)
        self.run_program("book", "remove", "Babbage")
        self.assertEqual(self.run_program("book", "list"), line)
        self.fails(1, "book", "find", "Babbage")
        self.assertEqual(self.files(), ["book"])

    def test_reading_commands_share_the_file_and_writing_ones_do_not(self):
        self.run_program("book", "add", *self.ENTRY)
        with open(os.path.join(self.directory, "book"), "rb") as reader:
            byte_of_readers = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 1 << 62, 1, 0)
            fcntl.fcntl(reader, 37, byte_of_readers)  # F_OFD_SETLK, which Python 3.11 does not name
            self.run_program("book", "find", "Lovelace")
            self.run_program("book", "list")
            self.assertIn("open elsewhere", self.fails(4, "book", "add", *self.ENTRY))

    def test_says_what_is_wrong(self):
        self.assertIn("No such file", self.fails(3, "book", "list"))
        self.assertIn("FILE is needed", self.fails(2))
        self.assertIn("add NAME STREET CITY PHONE", self.fails(2, "book", "add", "Lovelace"))
        self.assertEqual(self.files(), [])


class address_book_demo(Example):
    # With this seed the last kill comes after a quarter of the import, so that none can be too late to hit it.
    SMALL = ("--kills", "3", "--entries", "10000", "--batch", "50", "--seed", "3")

    def check_report(self, report):
        kills = re.findall(r"^ +(\d+) +[\d,]+ +[\d,]+ +[\d,]+ commits? ", report, re.MULTILINE)
        self.assertEqual(kills, ["1", "2", "3"], report)
        self.assertIn("10,000 of 10,000 entries equal their source in every byte", report)
        self.assertTrue(report.endswith("\nNothing acknowledged was lost, nothing half done was kept.\n"), report)

    def test_survives_its_kills_and_leaves_no_file(self):
        self.check_report(self.run_program(*self.SMALL))
        self.assertEqual(self.files(), [])

    def test_keeps_the_book_where_it_is_told_to(self):
        self.check_report(self.run_program("book.rem", *self.SMALL))
        self.assertEqual(self.files(), ["book.rem"])


class bank_demo(Example):
    SMALL = ("--kills", "3", "--accounts", "1000", "--seed", "2")

    def check_report(self, report):
        kills = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+) +[\d.]+ ms$", report, re.MULTILINE)
        self.assertEqual([kill for kill, *_ in kills], ["1", "2", "3"], report)
        self.assertTrue(all(int(snapshots) > 0 for _, snapshots, *_ in kills), report)
        self.assertTrue(report.endswith("\nNothing acknowledged was lost, nothing half done was kept.\n"), report)

    def test_survives_its_kills_and_leaves_no_file(self):
        self.check_report(self.run_program(*self.SMALL))
        self.assertEqual(self.files(), [])

    def test_keeps_the_bank_where_it_is_told_to(self):
        self.check_report(self.run_program("bank.rem", *self.SMALL))
        self.assertEqual(self.files(), ["bank.rem"])


class cache_demo(Example):
    SMALL = ("--kills", "2", "--entries", "2000", "--run-ms", "200", "--loss-ms", "100", "--seed", "3")

    def check_report(self, report):
        row = r"^ +(-|\d+) +(-|[\d.]+ m?s) +([\d,]+) +[\d.]+ m?s +(-|[\d.]+ %) +(-|[\d.]+ %)$"
        rows = re.findall(row, report, re.MULTILINE)
        self.assertEqual([kill for kill, *_ in rows], ["-", "1", "2"], report)
        self.assertEqual([entries == "0" for _, _, entries, *_ in rows], [True, False, False], report)
        self.assertRegex(report, r"verified +\d+ pages and [\d,]+ blocks without a fault")
        last_line = "Nothing durable was lost, and each process began with the cache of the one before."
        self.assertTrue(report.endswith(f"\n{last_line}\n"), report)

    def test_survives_its_kills_and_leaves_no_file(self):
        self.check_report(self.run_program(*self.SMALL))
        self.assertEqual(self.files(), [])

    def test_keeps_the_cache_where_it_is_told_to(self):
        self.check_report(self.run_program("cache.rem", *self.SMALL))
        self.assertEqual(self.files(), ["cache.rem"])


class drawing_demo(Example):
    SMALL = ("--kills", "3", "--run-ms", "100", "--seed", "3")

    def check_report(self, report):
        kills = re.findall(r"^  kill +(\d+): +[\d,]+ commands?, ", report, re.MULTILINE)
        self.assertEqual(kills, ["1", "2", "3"], report)
        self.assertIn("redo() says: a commit after an undo began another branch.", report)
        self.assertRegex(report, r"(?m)^  \* +\d+ after +\d+  delete$")
        self.assertTrue(report.endswith("\nEach drawing was as its last command left it, and so was its history.\n"), report)

    def test_survives_its_kills_and_leaves_a_picture(self):
        self.check_report(self.run_program(*self.SMALL))
        self.assertEqual(self.files(), ["drawing.svg"])
        with open(os.path.join(self.directory, "drawing.svg"), encoding="utf-8") as picture:
            text = picture.read()
        self.assertEqual((text.count("<rect"), text.count("<circle"), text.count("<line")), (1, 1, 2 + 8), text)

    def test_shows_after_the_undo_what_was_there_before(self):
        report = self.run_program("d.rem", "--svg", "d.svg", *self.SMALL)
        self.check_report(report)
        roof = r"//#####################\\"
        self.assertEqual(report.count(roof), 3, report)  # drawn, after the undo, beside the fence
        self.assertEqual(self.files(), ["d.rem", "d.rem-history", "d.svg"])


class ring_buffer(Example):
    def test_keeps_the_last_five_lines_over_all_runs(self):
        self.assertEqual(self.run_program("last.rem", "a", "b", "c"), "a\nb\nc\n")
        self.assertEqual(self.run_program("last.rem", "d", "e", "f", "g"), "c\nd\ne\nf\ng\n")
        self.assertEqual(self.run_program("last.rem"), "c\nd\ne\nf\ng\n")
        self.assertEqual(self.files(), ["last.rem"])


class from_std_map(Example):
    def test_counts_over_all_runs(self):
        self.assertEqual(self.run_program("words.rem", "b", "a", "b"), "a 1\nb 2\n")
        self.assertEqual(self.run_program("words.rem", "a", "c"), "a 2\nb 2\nc 1\n")
        self.assertEqual(self.files(), ["words.rem"])

    def test_keeps_nothing_of_a_section_that_failed(self):
        self.run_program("words.rem", "a")
        done = subprocess.run([PROGRAM, "words.rem", "b", ""], cwd=self.directory, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "from_std_map: an empty word\n"))
        self.assertEqual(self.run_program("words.rem"), "a 1\n")


class intrusive(Example):
    def test_finds_its_lists_and_sets_again(self):
        begun = self.run_program("tasks.rem", "wash", "cook", "iron")
        self.assertEqual(begun, "wash\ncook\niron\nby name: cook iron wash\n")
        self.assertEqual(self.run_program("tasks.rem", "cook", "bake"), "wash\niron\nbake\nby name: bake iron wash\n")
        self.assertEqual(self.run_program("tasks.rem", "wash", "iron", "bake"), "by name:\n")
        self.assertEqual(self.run_program("tasks.rem", "wash"), "wash\nby name: wash\n")
        self.assertEqual(self.files(), ["tasks.rem"])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    repeating.main(words=1)
