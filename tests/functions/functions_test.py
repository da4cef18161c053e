"""Builds a program that stores pointers to functions in several ways, and lets each build call what each other one has stored."""
import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES, LIBRARY, INCLUDE, GCC, CLANG = sys.argv[1:6]

SHARED = "-lhandlers"
REORDERED = "-DHANDLERS_REORDERED"
FOLDED = ["-fuse-ld=lld", "-ffunction-sections", "-Wl,--icf=all"]
BUILDS = {
    "g++ -O0 with a shared library": [GCC, "-O0", SHARED],
    "g++ -O2 -static-pie, functions in another order": [GCC, "-O2", "-static-pie", REORDERED],
    "g++ -O2 -flto, exported": [GCC, "-O2", "-flto", "-rdynamic"],
    "g++ -O1 at fixed addresses with a shared library": [GCC, "-O1", "-fno-pie", "-no-pie", SHARED],
    "clang -O2": [CLANG, "-O2"],
    "clang -O1 with a shared library, hidden, functions in another order": [CLANG, "-O1", "-fvisibility=hidden", REORDERED, SHARED],
    "clang -O2 with folded functions, at fixed addresses": [CLANG, "-O2", "-fno-pie", "-no-pie", *FOLDED],
}
LACKING = [GCC, "-O1", "-DHANDLERS_WITHOUT_CLOSED"]
EXPORTED = [GCC, "-O1", "-rdynamic"]


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.addClassCleanup(cls.folder.cleanup)
        commands = {**BUILDS, "lacking": LACKING}
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            built = threads.map(cls.build, commands.keys(), commands.values())
        cls.programs = dict(zip(commands, built))

    @classmethod
    def path(cls, name, ending=""):
        return Path(cls.folder.name, "".join(c if c.isalnum() else "_" for c in name) + ending)

    @classmethod
    def build(cls, name, command):
        parts = ["handlers.cpp"] if command is LACKING else ["handlers.cpp", "closed.cpp"]
        sources = [Path(SOURCES, each) for each in parts]
        if SHARED in command:
            command = [word for word in command if word != SHARED]
            sources = [cls.build_library(command, name, parts), f"-Wl,-rpath,{cls.folder.name}"]
        sources.insert(0, Path(SOURCES, "handling_program.cpp"))
        program = cls.path(name)
        words = [*command, "-std=c++20", "-I", INCLUDE, *sources, LIBRARY, "-pthread", "-ldl", "-o", program]
        subprocess.run(words, check=True)
        return program

    @classmethod
    def build_library(cls, command, name, sources):
        library = cls.path(name, ".so")
        words = [word for word in command if not word.endswith("-pie")]
        sources = [Path(SOURCES, each) for each in sources]
        subprocess.run([*words, "-std=c++20", "-shared", "-fPIC", "-I", INCLUDE, *sources, "-o", library], check=True)
        return library

    def run_program(self, program, *arguments):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def expect_success(self, program, *arguments):
        self.assertEqual(self.run_program(program, *arguments), (0, ""))

    def stripped(self, program, option):
        copy = Path(f"{program}_stripped{option}")
        subprocess.run(["strip", option, program, "-o", copy], check=True)
        return copy

    def heap_of(self, name):
        heap = self.path(name, ".heap")
        if not heap.exists():
            self.expect_success(self.programs[name], "write", heap)
        return heap

    def test_each_build_calls_what_each_other_has_stored(self):
        for writer in BUILDS:
            heap = self.heap_of(writer)
            for reader in BUILDS:
                with self.subTest(writer=writer, reader=reader):
                    self.expect_success(self.programs[reader], "read", heap)

    def test_a_function_is_found_while_its_library_is_loaded(self):
        libraries = [
            self.build_library([GCC, "-O1"], "late_1", ["closed.cpp"]),
            self.build_library([CLANG, "-O2", REORDERED], "late_2", ["closed.cpp"]),
        ]
        for writer in BUILDS:
            with self.subTest(writer=writer):
                self.expect_success(self.programs["lacking"], "lacks", self.heap_of(writer))
                self.expect_success(self.programs["lacking"], "lacks", self.heap_of(writer), *libraries, *libraries)

    def test_functions_of_one_name_are_refused(self):
        for name in BUILDS:
            with self.subTest(program=name):
                status, said = self.run_program(self.programs[name], "twins")
                self.assertEqual(status, 0, said)
                twice = "both have one" if SHARED in BUILDS[name] else "has several functions"
                for line in said.splitlines():
                    self.assertIn("cannot store a pointer to a function, app::twin(int)", line)
                    self.assertIn(twice, line)
                self.assertEqual(len(said.splitlines()), 2)

    def test_a_program_without_names_is_refused(self):
        stripped = self.stripped(self.programs["clang -O2"], "-s")
        status, said = self.run_program(stripped, "write", self.path("stripped", ".heap"))
        self.assertEqual(status, 1)
        self.assertIn("has no name for it", said)
        self.assertIn("-rdynamic", said)
        self.assertIn(str(stripped), said)
        status, said = self.run_program(stripped, "read", self.heap_of("clang -O2"))
        self.assertEqual(status, 1)
        self.assertIn("the program has no function with the number", said)

    def test_a_program_without_debug_information_has_names(self):
        for name in BUILDS:
            with self.subTest(program=name):
                self.expect_success(self.stripped(self.programs[name], "-g"), "read", self.heap_of("clang -O2"))

    def test_exported_functions_keep_their_names(self):
        source = Path(self.folder.name, "exported.cpp")
        source.write_text(
            '#include <remanence/remanence.hpp>\nint f(int n) { return n; }\n'
            "int main() { remanence::function_pointer p = f; return p(0); }\n",
            encoding="utf-8",
        )
        program = self.path("exported")
        subprocess.run(
            [*EXPORTED, "-std=c++20", "-I", INCLUDE, source, LIBRARY, "-pthread", "-ldl", "-o", program], check=True
        )
        self.expect_success(self.stripped(program, "-s"))

    def test_a_file_that_was_replaced_is_not_asked(self):
        heap = self.heap_of("clang -O2")
        program = self.programs["lacking"]
        library = self.build_library([GCC, "-O1"], "replaced", ["closed.cpp"])
        other = self.build_library([CLANG, "-O2", REORDERED], "other", ["closed.cpp", "handlers.cpp"])
        status, said = self.run_program(program, "replaced", heap, library, other)
        self.assertEqual((status, "the file was changed after it was loaded" in said), (1, True), said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
