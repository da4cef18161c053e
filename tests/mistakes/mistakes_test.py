"""Mistakes that newcomers make: the first lines of what they see say what is wrong, and what to write instead.

usage: mistakes_test.py PROGRAM NEXT_RELEASE GOLDEN COMMAND...
(mistakes.cpp as a program, and once more with NEXT_RELEASE; tests/compat/golden; the compiler and its options)
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

PROGRAM = NEXT_RELEASE = GOLDEN = None
COMPILER = []

START = """#include <remanence/remanence.hpp>
namespace rem = remanence;
"""
ROOT = 'int main() { rem::heap h = rem::heap::open("h"); h.root<%s>("r"); }\n'

# What is wrong: the code before main(), the type of the root, options of the compiler, what is said.
DO_NOT_COMPILE = {
    "std_string": ("struct person { std::string name; };", "rem::vector<person>", [], ["std::string", "Use that of namespace remanence (rem::string"]),
    "std_allocator": ("#include <map>", "std::map<int, int>", [], ["std::allocator", "or rem::allocator"]),
    "std_function": ("#include <functional>\nstruct job { std::function<void()> run; };", "job", [], ["std::function", "Use std::variant"]),
    "virtual_class": ("struct shape { virtual ~shape() = default; };", "shape", [], ["cannot see what this class is made of", "vouch for it"]),
    "string_view": ("struct entry { std::string_view name; };", "entry", [], ["std::string_view", "Use rem::string"]),
    "private_members": ("class account { rem::string owner_; public: account() = default; };", "account", [], ["cannot see", "enable_persistable<T> = true"]),
    "reference": ("struct edge { int& weight; };", "edge", [], ["references", "use a plain pointer"]),
    "mutex": ("#include <mutex>\nstruct counter { std::mutex lock; };", "counter", [], ["locks", "use heap::write()"]),
    "older_language": ("", "int", ["-std=c++17"], ["needs C++20", "-std=c++20"]),
    "no_exceptions": ("", "int", ["-fno-exceptions"], ["exceptions", "without -fno-exceptions"]),
    "no_rtti": ("", "int", ["-fno-rtti"], ["types of roots", "without -fno-rtti"]),
}
# g++ tells first from where the code came that it objects to: two lines for the header, one for the function with the part to
# blame, one for root(), one for the user's own line.
LINES_OF_COMPILER = 6
LINES = 5


def first_lines(text, count):
    return "\n".join(text.splitlines()[:count])


def in_a_file_system_of_its_own(size, script):
    """Runs a shell script in a directory with that much room; None where no file system may be mounted."""
    with tempfile.TemporaryDirectory() as place:
        mount = f'mount -t tmpfs -o size={size} tmpfs "{place}" && cd "{place}" && {script}'
        tried = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
        if tried.returncode != 0:
            return None
        return subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, text=True, check=False)


class CompileTime(unittest.TestCase):
    pass


def test_of(code, root, options, wanted):
    def test(self):
        done = subprocess.run(
            [*COMPILER, *options, "-x", "c++", "-fsyntax-only", "-"], input=START + code + "\n" + ROOT % root,
            capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        seen = first_lines(done.stderr, LINES_OF_COMPILER)
        for part in wanted:
            self.assertIn(part, seen)
    return test


for name, mistake in DO_NOT_COMPILE.items():
    setattr(CompileTime, "test_" + name, test_of(*mistake))


class RunTime(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.heap = self.place / "book.rem"
        self.log = self.place / "book.rem-log"

    def run_program(self, what, heap=None, program=None):
        return subprocess.run([program or PROGRAM, what, str(heap or self.heap)], capture_output=True, text=True, check=False)

    def succeed(self, what, heap=None):
        done = self.run_program(what, heap)
        self.assertEqual(done.returncode, 0, done.stderr)

    def says(self, done, *wanted, fails=True):
        self.assertEqual(done.returncode != 0, fails, done.stderr)
        seen = first_lines(done.stderr, LINES)
        for part in wanted:
            self.assertRegex(seen, part)

    def test_lambda(self):
        self.says(self.run_program("lambda"), "lambda", r"Declare a struct with operator\(\)")

    def test_pointer_to_the_stack(self):
        self.says(self.run_program("stack-pointer"), "a pointer to the stack", r"in first\.next", 'below the root "first"', r"heap\.make\(\)")

    def test_destroyed_twice(self):
        self.says(self.run_program("destroy-twice"), r"destroy\(0x[0-9a-f]+\) of an object of 40 bytes", "destroyed twice", str(self.heap))

    def test_splice_between_files(self):
        self.says(self.run_program("splice"), r"splice\(\) or merge\(\) of two lists that belong to different heaps", "Insert the elements")

    def test_bytes_without_a_value_are_no_mistake(self):
        self.succeed("bytes-without-a-value")

    def test_forgotten_commit(self):
        self.says(self.run_program("forgotten-commit"), r"discards \d+ bytes", 'the root "numbers"', r"Call commit\(\)", fails=False)

    def test_changed_struct(self):
        self.succeed("address")
        self.says(
            self.run_program("address", program=NEXT_RELEASE),
            'member 3 of shop::address was "int zip", is "rem::string zip"', "Ask for the stored type",
        )

    def test_second_process(self):
        with subprocess.Popen([PROGRAM, "keep-open", str(self.heap)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
            first.stdout.readline()
            self.says(self.run_program("make-heap"), "is open elsewhere", str(first.pid), "Close it there first")
            first.communicate(b"\n")
            self.assertEqual(first.returncode, 0)

    def test_file_of_an_older_format(self):
        self.heap.write_bytes(gzip.decompress((GOLDEN / "format-2" / "closed.rem.gz").read_bytes()))
        self.says(self.run_program("make-heap"), "format", "rem upgrade")

    def test_wrong_file(self):
        self.heap.write_text("Dear diary\n")
        self.says(self.run_program("make-heap"), "is not a heap", "Name another file")

    def test_removed_file(self):
        with subprocess.Popen([PROGRAM, "keep-open", str(self.heap)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as first:
            first.stdout.readline()
            self.heap.unlink()
            _, said = first.communicate("\n")
            self.assertNotEqual(first.returncode, 0)
            self.assertRegex(first_lines(said, LINES), "was removed while it was open")
            self.assertRegex(first_lines(said, LINES), "Copy what you need to another heap")

    def test_moved_file(self):
        self.succeed("be-killed")
        self.heap.rename(self.place / "moved.rem")
        self.says(self.run_program("make-heap", self.place / "moved.rem"), "redo log", "If the heap was renamed or moved")

    def test_copied_without_its_log(self):
        self.succeed("be-killed")
        shutil.copy(self.heap, self.place / "copy.rem")
        self.says(self.run_program("make-heap", self.place / "copy.rem"), "was not closed cleanly", "Put the log back beside the heap")

    def test_older_heap_beside_a_newer_log(self):
        self.succeed("be-killed")
        older = self.place / "older"
        shutil.copy(self.heap, older)
        self.succeed("make-heap")
        self.succeed("be-killed")
        shutil.copy(older, self.heap)
        self.says(self.run_program("make-heap"), "book.rem is older than the redo log", "Put the heap that the log belongs to back")

    def test_newer_heap_beside_an_older_log(self):
        self.succeed("be-killed")
        older = self.place / "older"
        shutil.copy(self.log, older)
        self.succeed("make-heap")
        self.succeed("be-killed")
        shutil.copy(older, self.log)
        self.says(self.run_program("make-heap"), "the redo log .* is older than the heap", "Put its last session's log back")

    def test_dangling_link(self):
        self.heap.symlink_to(self.place / "nowhere")
        self.says(self.run_program("make-heap"), "is a symbolic link to .*nowhere, where no file is", "name the file itself")
        self.assertEqual([each.name for each in self.place.iterdir()], ["book.rem"])

    def test_addresses_taken(self):
        self.says(self.run_program("base-taken"), "are taken by", "Open the heap before that mapping is made")

    def test_write_to_a_read_only_heap(self):
        self.succeed("make-heap")
        self.says(self.run_program("read-only"), "which is open read-only", "Open it without read_only")

    def test_full_disk(self):
        done = in_a_file_system_of_its_own("1m", f'"{PROGRAM}" fill book.rem')
        if done is None:
            self.skipTest("no file system may be mounted here")
        self.says(done, "No space left on device", "Make room on the disk")

    def test_full_disk_under_a_container_in_each_form(self):
        for form in ("memory", "portable", "binary"):
            with self.subTest(form):
                fill = f'"{PROGRAM}" fill-{form} book.rem'
                done = in_a_file_system_of_its_own("2m", f'{fill} ; test $? -ne 0 && "{PROGRAM}" open-{form} book.rem && ls')
                if done is None:
                    self.skipTest("no file system may be mounted here")
                self.assertEqual(done.returncode, 0, done.stderr)
                seen = first_lines(done.stderr, LINES)
                self.assertIn("No space left on device", seen)
                self.assertIn("Make room on the disk", seen)
                size, *files = done.stdout.split()
                self.assertIn("book.rem", files)
                self.assertNotIn("book.rem-new", files)
                self.assertGreater(int(size), 0)
                self.assertEqual(int(size) % 10_000, 0, "the last commit that was made, and no part of the next")

    def test_read_only_place(self):
        read_only = "mount -o remount,ro . &&"
        done = in_a_file_system_of_its_own("1m", f'{read_only} "{PROGRAM}" make-heap book.rem')
        if done is None:
            self.skipTest("no file system may be mounted here")
        self.says(done, "cannot create .*Read-only file system", "Choose a place that can be written")
        done = in_a_file_system_of_its_own("1m", f'"{PROGRAM}" make-heap book.rem && {read_only} "{PROGRAM}" make-heap book.rem')
        self.says(done, "cannot open .*Read-only file system", "Open it read-only")


if __name__ == "__main__":
    PROGRAM, NEXT_RELEASE = (os.path.abspath(program) for program in sys.argv[1:3])
    GOLDEN, COMPILER = pathlib.Path(sys.argv[3]), sys.argv[4:]
    repeating.main(takes_names=False)
