"""rem_upgrade_test.py REM MAKE_HEAP SOURCE [unittest options]: heaps of an older format, converted; whose heap it is, recorded."""

import gzip
import os

from rem_support import DAMAGE, ERROR, SOURCE, USAGE, RemTest, main

GOLDEN = os.path.join(SOURCE, "..", "..", "tests", "compat", "golden", "format-2")


class upgrade(RemTest):
    def unpack(self, name):
        """A heap of format 2, and its log if there is one."""
        for part, to in ((".rem", self.heap), (".rem-log", self.log)):
            golden = os.path.join(GOLDEN, name + part + ".gz")
            if os.path.exists(golden):
                with gzip.open(golden) as packed, open(to, "wb") as file:
                    file.write(packed.read())

    def files(self):
        found = {}
        for name in sorted(os.listdir(self.directory)):
            with open(self.path(name), "rb") as file:
                found[name] = file.read()
        return found

    def test_converts_a_closed_heap_and_finds_nothing_to_do_then(self):
        self.unpack("closed")
        self.assertEqual(self.json("info", "--json", "book.rem")["format_version"], 2)
        roots = self.json("ls", "--json", "book.rem")["roots"]
        self.assertIn("format 3, was 2", self.text("upgrade", "book.rem")[0])
        self.assertEqual(self.json("info", "--json", "book.rem")["format_version"], 3)
        self.assertEqual(self.json("ls", "--json", "book.rem")["roots"], roots)
        self.text("verify", "book.rem")
        before = self.files()
        self.assertIn("nothing to do", self.text("upgrade", "book.rem")[0])
        self.assertEqual(self.files(), before)

    def test_converts_the_heap_of_a_killed_program_with_its_last_commits(self):
        self.unpack("unapplied")
        before = self.json("info", "--json", "book.rem")
        self.assertEqual((before["format_version"], before["log"]["commits"]), (2, 3))
        self.text("verify", "book.rem")
        self.assertIn("3 commits recovered", self.text("upgrade", "book.rem")[0])
        self.assertFalse(os.path.exists(self.log))
        after = self.json("info", "--json", "book.rem")
        self.assertEqual((after["format_version"], after["clean"]), (3, True))
        self.assertEqual(after["version"], before["version"])

    def test_looking_and_copying_leave_an_older_heap_as_it_is(self):
        self.unpack("unapplied")
        before = self.files()
        for words in (("info",), ("ls",), ("stat",), ("verify",)):
            self.rem(*words, "book.rem")
        self.rem("copy", "book.rem", "copy.rem")
        self.assertEqual({name: bytes for name, bytes in self.files().items() if name != "copy.rem"}, before)
        os.remove(self.log)
        os.replace(self.path("copy.rem"), self.heap)
        self.text("upgrade", "book.rem")
        self.text("verify", "book.rem")

    def test_without_its_log_it_is_refused_and_stays(self):
        self.unpack("unapplied")
        os.remove(self.log)
        before = self.files()
        self.assertIn("is not there", self.text("upgrade", "book.rem", code=DAMAGE)[1])
        self.assertEqual(self.files(), before)

    def test_records_the_application_once(self):
        self.make()
        self.assertEqual(self.json("info", "--json", "book.rem")["application"], "")
        self.assertIn("application    not recorded", self.text("info", "book.rem")[0])
        self.assertIn("application org.x.book", self.text("upgrade", "--application", "org.x.book", "book.rem")[0])
        self.assertEqual(self.json("info", "--json", "book.rem")["application"], "org.x.book")
        self.assertIn("application    org.x.book", self.text("info", "book.rem")[0])
        self.assertIn("nothing to do", self.text("upgrade", "--application", "org.x.book", "book.rem")[0])
        before = self.files()
        err = self.text("upgrade", "--application", "another", "book.rem", code=ERROR)[1]
        self.assertIn('"org.x.book"', err)
        self.assertIn('"another"', err)
        self.assertEqual(self.files(), before)

    def test_records_it_with_the_conversion(self):
        self.unpack("unapplied")
        self.text("upgrade", "--application", "x", "book.rem")
        got = self.json("info", "--json", "book.rem")
        self.assertEqual((got["format_version"], got["application"]), (3, "x"))

    def test_a_name_that_no_application_may_have_is_wrong_usage(self):
        self.make()
        for name in ("", "sixteen_letters_", "a b", "é"):
            self.text("upgrade", "--application", name, "book.rem", code=USAGE)

    def test_a_heap_that_is_open_is_in_use(self):
        self.hold()
        self.assertIn("open elsewhere", self.text("upgrade", "book.rem", code=ERROR)[1])


if __name__ == "__main__":
    main()
