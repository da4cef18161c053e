"""What the tests of rem share: heaps in a directory of their own, ways to damage them, and runs of the tool."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

REM, MAKE_HEAP, SOURCE = (os.path.abspath(word) for word in sys.argv[1:4])
OK, ERROR, USAGE, POINTERS, DAMAGE, HISTORY, LEAKS = 0, 1, 2, 3, 4, 5, 6

SUPERBLOCK_BYTES = 4096
RECORDS_BEGIN = 4096  # in the log

ROOTS = ['counter "\x1b[31m"', "late", "names", "numbers", "table", "zeros"]  # of the heaps that make_heap makes


class RemTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = os.path.realpath(directory.name)
        self.heap = self.path("book.rem")
        self.log = self.heap + "-log"

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, end="closed", name="book.rem"):
        """A heap with roots; how the process that made it ended. Where the parts lie in the heap."""
        done = subprocess.run([MAKE_HEAP, self.path(name), end], capture_output=True, check=True)
        self.places = json.loads(done.stdout)
        return self.places

    def hold(self):
        """A heap that another process has open until the test ends."""
        process = subprocess.Popen([MAKE_HEAP, self.heap, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder = process

        def end():
            process.stdin.close()
            process.wait()
            process.stdout.close()

        self.addCleanup(end)
        self.places = json.loads(process.stdout.readline())

    def start(self, what):
        """Another process that does this with the heap until the test ends, or end() is called with it."""
        process = subprocess.Popen([MAKE_HEAP, self.heap, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"{}\n")
        return process

    def end(self, process):
        if process.stdin.closed:
            return
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        process.stdout.close()

    def rem(self, *words, code=OK, **options):
        done = subprocess.run([REM, *words], capture_output=True, cwd=self.directory, **options)
        said = (done.stdout[-2000:] + done.stderr).decode(errors="replace")
        self.assertEqual(done.returncode, code, said)
        return done

    def text(self, *words, code=OK):
        done = self.rem(*words, code=code)
        return done.stdout.decode(), done.stderr.decode()

    def json(self, *words, code=OK):
        return json.loads(self.rem(*words, code=code).stdout)

    # The file

    def read(self, path=None):
        with open(path or self.heap, "rb") as file:
            return file.read()

    def superblock(self):
        """The current one: its place, and what of it the tests need."""
        data = self.read()
        sequence, place = max((struct.unpack_from("<Q", data, at + 32)[0], at) for at in (0, SUPERBLOCK_BYTES))
        area, slot_bytes, count, _, slot = struct.unpack_from("<QQQQI", data, place + 120)
        heap_offset, size, table, home = struct.unpack_from("<QQQQ", data, place + 336)
        self.assertEqual(heap_offset, 0)
        return {"place": place, "map": area + slot * slot_bytes, "map_count": count, "table": table, "home": home}

    def place_in_file(self, heap_offset):
        return self.superblock()["home"] + heap_offset

    def flip(self, offset, path=None):
        with open(path or self.heap, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x20]))

    def state(self):
        """Everything in the directory: names, times and contents."""
        found = {}
        for name in sorted(os.listdir(self.directory)):
            status = os.stat(self.path(name))
            found[name] = (status.st_mtime_ns, status.st_size, self.read(self.path(name)))
        return found


def main():
    repeating.main(words=3)
