"""Runs the programs and sessions of the README and of docs/:
programs_test.py COMPILER C_COMPILER LIBRARY CHECKED REM [unittest options].

A block is a program, a file or a session if a comment before it says so:

    <!-- program hello.cpp -->   is written to hello.cpp, compiled, and called hello from then on; hello.c by the C compiler
    <!-- file hello.cpp -->      is written to hello.cpp
    <!-- session -->             each line that begins with "$ " is run by the shell; what it prints must be as shown

In what is shown, … stands for any text, and a line of … alone for any number of lines. The blocks of a page run in their order, in a
directory of their own that looks like this repository after `cmake --preset library`: include/, and in
build/library/ both libraries.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^<!-- (program|file|session)(?: (\S+))? -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^<!-- (?:program|file|session)\b", re.MULTILINE)
COMPILER = C_COMPILER = LIBRARY = CHECKED = REM = ""
COMMANDS = {
    ".cpp": "g++ -std=c++20 -Wall -Wextra -I include {0} build/library/libremanence.a -o {1}",
    ".c": "gcc -std=c99 -pedantic -Wall -Wextra -I include {0} build/library/libremanence.a -lstdc++ -pthread -o {1}",
}


def pattern_of(shown):
    """A regular expression for what a session shows."""
    lines = [r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in shown]
    return "".join(lines) + r"\Z"


class Programs(unittest.TestCase):
    precompiled = None

    @classmethod
    def setUpClass(cls):
        """The headers, with remanence.hpp compiled once for all programs."""
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.precompiled = pathlib.Path(directory.name) / "include"
        (cls.precompiled / "remanence").mkdir(parents=True)
        for header in (ROOT / "include" / "remanence").iterdir():
            (cls.precompiled / "remanence" / header.name).symlink_to(header)
        whole = ROOT / "include" / "remanence" / "remanence.hpp"
        command = [COMPILER, "-std=c++20", "-w", "-I", str(ROOT / "include"), "-x", "c++-header", str(whole)]
        subprocess.run([*command, "-o", str(cls.precompiled / "remanence" / "remanence.hpp.gch")], check=True)

    def run_page(self, page):
        blocks = BLOCK.findall(page.read_text())
        self.assertEqual(len(blocks), len(MARK.findall(page.read_text())), "a mark without a block behind it")
        with tempfile.TemporaryDirectory() as name:
            where = pathlib.Path(name)
            (where / "include").symlink_to(self.precompiled)
            (where / "build" / "library").mkdir(parents=True)
            (where / "build" / "library" / "libremanence.a").symlink_to(LIBRARY)
            (where / "build" / "library" / "libremanence_checked.a").symlink_to(CHECKED)
            (where / "bin").mkdir()
            (where / "bin" / "g++").symlink_to(COMPILER)
            (where / "bin" / "gcc").symlink_to(C_COMPILER)
            (where / "bin" / "rem").symlink_to(REM)
            for kind, name, text in blocks:
                if kind == "session":
                    self.run_session(where, text)
                    continue
                (where / name).write_text(text)
                if kind == "program":
                    source = pathlib.PurePath(name)
                    command = COMMANDS[source.suffix].format(source, source.stem)
                    with self.subTest(program=name):
                        self.assertEqual(self.shell(where, command), "", name)

    def run_session(self, where, text):
        before, *steps = re.split(r"^\$ ", text, flags=re.MULTILINE)
        self.assertEqual(before, "", "a session begins with a command")
        for step in steps:
            command, _, shown = step.partition("\n")
            with self.subTest(command=command):
                said = self.shell(where, command)
                self.assertRegex(said, re.compile(r"\A" + pattern_of(shown.splitlines())), "printed otherwise than shown")

    def shell(self, where, command):
        """What it prints, to either stream."""
        environment = {**os.environ, "PATH": f"{where / 'bin'}:{where}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(["bash", "-c", command], cwd=where, env=environment, text=True, **streams).stdout


def add_test(page):
    name = "test_" + re.sub(r"\W", "_", str(page.relative_to(ROOT)).removesuffix(".md"))
    setattr(Programs, name, lambda self: self.run_page(page))


for each in (page for page in PAGES if MARK.search(page.read_text())):
    add_test(each)

if __name__ == "__main__":
    COMPILER, C_COMPILER, LIBRARY, CHECKED, REM = (os.path.abspath(sys.argv.pop(1)) for _ in range(5))
    repeating.main(words=5)
