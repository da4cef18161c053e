"""rem_no_heap_test.py REM MAKE_HEAP SOURCE [unittest options]: every subcommand on what is no heap."""

import os
import struct

from rem_support import ERROR, SUPERBLOCK_BYTES, USAGE, RemTest, main


class no_heap(RemTest):
    def each(self, path, part):
        for words in (["info"], ["ls"], ["verify"], ["copy"]):
            with self.subTest(words[0]):
                to = ["copy.rem"] if words == ["copy"] else []
                out, err = self.text(*words, path, *to, code=ERROR)
                self.assertEqual(out, "")
                self.assertIn(part, err)
                self.assertTrue(err.startswith("rem: "))
                if words != ["copy"]:
                    said = self.json(*words, "--json", path, code=ERROR)
                    self.assertEqual(list(said), ["path", "error"])
                    self.assertIn(part, said["error"])
        self.assertFalse(os.path.exists(self.path("copy.rem")) or os.path.exists(self.path("copy.rem-new")))

    def test_missing(self):
        self.each("nothing", "No such file")

    def test_something_else(self):
        with open(self.path("notes"), "w") as file:
            file.write("not a heap " * 1000)
        self.each("notes", "is not a heap")

    def test_without_a_name(self):
        for words in (["info"], ["ls"], ["verify"]):
            self.assertIn("the name is empty", self.text(*words, "", code=USAGE)[1])

    def test_too_long_a_name_and_links_in_a_circle(self):
        self.each("x" * 300, "shorter name")
        os.symlink("b", self.path("a"))
        os.symlink("a", self.path("b"))
        self.each("a", "symbolic link")

    def test_empty(self):
        open(self.path("empty"), "w").close()
        self.each("empty", "is empty")

    def test_directory(self):
        self.each(".", "not a regular file")

    def test_pipe_is_not_waited_for(self):
        os.mkfifo(self.path("pipe"))
        self.each("pipe", "not a regular file")

    def test_newer_format(self):
        self.make()
        for place in (0, SUPERBLOCK_BYTES):
            with open(self.heap, "r+b") as file:
                file.seek(place + 8)
                file.write(struct.pack("<I", 99))
        self.each("book.rem", "has format 99")


if __name__ == "__main__":
    main()
