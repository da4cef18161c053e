"""What gdb shows of heaps and containers: of a process, of a core with the heap's memory, and of one that has it in the heap's file.

usage: gdb_test.py PROGRAM SCRIPT [unittest options]; PROGRAM has SCRIPT in it. Skipped where there is no gdb.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

SKIPPED = 77
PROGRAM = SCRIPT = ""
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "DEBUGINFOD_URLS": ""}

SHOWN = {
    "people": 'std::multimap with 1 element = {["KNUTH"] = {street = "1 Art of Programming Street", zip = 94305, door = '
    "std::optional = {[contained value] = 7}}}",
    "streets": 'btree_map of 1 element = {["1 Art of Programming Street"] = {street = "Stanford", zip = 94305, door = '
    "std::optional [no contained value]}}",
    "lists": "btree_multimap of 1 element = {[1] = std::list = {[0] = 2, [1] = 3}}",
    "ages": 'hash_map of 2 elements = {["Donald"] = 87, ["somebody with a name of more than 23 characters"] = 1}',
    "words": 'vector_pi of 3 elements = {"", "short", "a word of more than twenty-three characters"}',
    "packed": 'packed_map of 2 elements = {["another"] = "", ["key"] = "value"}',
    "kept": 'fragile element, stored as = {bytes = "\\rkept as it is"}',  # its length comes first
    "nothing": "btree_map of 0 elements",
}


def elements(shown):
    """Of a set that is shown whole, as numbers."""
    return [int(each.rpartition("= ")[2]) for each in shown.partition("= {")[2].rstrip("}").split(", ")]


class Gdb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)

    def gdb(self, *commands, script="auto", arguments=()):
        """What these commands print, at the place where the program looks."""
        how = ["-iex", f"add-auto-load-safe-path {PROGRAM}"] if script == "auto" else ["-ex", f"source {SCRIPT}"]
        every = ["set width 0", "set print elements 0", *commands]
        command = ["gdb", "-nx", "-batch", *how, *(word for each in every for word in ("-ex", each)), PROGRAM, *arguments]
        done = subprocess.run(command, cwd=self.directory, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def printed(self, expressions, *begin, **how):
        """{expression: what gdb prints of it} in the function that looks."""
        commands = [*begin, "frame function look"]
        for each in expressions:
            commands += [f"echo \\n=={each}==", f"output {each}"]
        said = self.gdb(*commands, "echo \\n====", **how)
        return {each: said.partition(f"\n=={each}==")[2].partition("\n==")[0] for each in expressions}

    def assert_shows_all(self, *begin, **how):
        got = self.printed([*SHOWN, "numbers", "squares", "book"], *begin, **how)
        for name, wanted in SHOWN.items():
            shown = got[name].replace("std::optional<int>", "std::optional").replace("std::__cxx11::list", "std::list")
            with self.subTest(name):
                self.assertEqual(shown if name != "ages" else self.in_order(shown), wanted)
        self.assertTrue(got["numbers"].startswith("btree_set of 1000 elements"), got["numbers"])
        self.assertEqual(elements(got["numbers"]), list(range(1000)))
        self.assertTrue(got["squares"].startswith("hash_set of 100 elements"), got["squares"])
        self.assertEqual(sorted(elements(got["squares"])), [i * i for i in range(100)])
        self.assertRegex(got["book"], r'^heap "\S*\.rem" at 0x[0-9a-f]+ with 11 roots = \{')
        self.assertIn("plain = 42", got["book"])
        self.assertRegex(got["book"], r"people = rem::multimap<rem::string, .*address> at 0x[0-9a-f]+")

    @staticmethod
    def in_order(shown):
        """Of a hash_map of two elements."""
        front, _, all_of_them = shown.rstrip("}").partition("= {")
        return f"{front}= {{{', '.join(sorted(all_of_them.split(', ')))}}}"

    def test_shows_a_process_and_a_core_that_has_the_heap(self):
        core = "generate-core-file whole.core"
        self.assert_shows_all("run made.rem in_core", core)
        (self.directory / "made.rem").rename(self.directory / "away.rem")
        self.assert_shows_all(arguments=["whole.core"])

    def test_shows_a_core_whose_heap_is_in_its_file(self):
        self.gdb("run kept.rem in_file")
        self.assert_shows_all("run kept.rem in_file", "generate-core-file small.core", script="by hand")
        self.assert_shows_all(arguments=["small.core"])
        (self.directory / "kept.rem").rename(self.directory / "away.rem")
        got = self.printed(["book", "streets"], arguments=["small.core"])
        self.assertRegex(got["book"], r'^heap "\S*kept\.rem", which is not in the core: heap_options::memory.core_dump puts it there')
        self.assertNotRegex(got["streets"], "element")

    def test_a_program_that_is_stripped_has_no_script(self):
        stripped = self.directory / "stripped"
        subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
        sections = subprocess.run(["readelf", "-SW", stripped], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertIn(".text", sections)
        self.assertNotIn(".debug_gdb_scripts", sections)


if __name__ == "__main__":
    PROGRAM, SCRIPT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    if shutil.which("gdb") is None:
        print("skipped: gdb is not installed")
        sys.exit(SKIPPED)
    repeating.main(words=2)
