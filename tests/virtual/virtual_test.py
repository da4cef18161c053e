"""Builds a program that stores shapes in several ways, and lets each build use what each other one has stored."""
import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES, LIBRARY, INCLUDE, GCC, CLANG = sys.argv[1:6]

UNIQUE = "-fno-assume-unique-vtables"  # clang would compare addresses of vtables
SHARED = "-lshapes"
BUILDS = {
    "g++ -O0 with a shared library": [GCC, "-O0", SHARED],
    "g++ -O2 -static-pie, functions in another order": [GCC, "-O2", "-static-pie", "-DSHAPES_REORDERED"],
    "clang -O2": [CLANG, "-O2", UNIQUE],
    "clang -O1, functions in another order": [CLANG, "-O1", UNIQUE, "-DSHAPES_REORDERED", "-fvisibility=hidden"],
}
LACKING = {
    "g++ without a class": [GCC, "-O1", "-DSHAPES_WITHOUT_LATE"],
}
ASSUMING = [CLANG, "-O2"]
# Calls of the functions are replaced where all classes seem to be known.
WHOLE = [CLANG, "-O2", UNIQUE, "-flto", "-fuse-ld=lld", "-fwhole-program-vtables", "-fvisibility=hidden"]
FIXED = [GCC, "-O1", "-fno-pie", "-no-pie"]
LARGER = [GCC, "-O0", "-DSHAPES_LARGER"]


class Shapes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.addClassCleanup(cls.folder.cleanup)
        commands = {**BUILDS, **LACKING, "assuming": ASSUMING, "whole": WHOLE, "fixed": FIXED, "larger": LARGER}
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            built = threads.map(cls.build, commands.keys(), commands.values())
        cls.programs = dict(zip(commands, built))

    @classmethod
    def build(cls, name, command):
        program = Path(cls.folder.name, name.replace(" ", "_"))
        of_library = ["shapes.cpp"] if name in LACKING else ["shapes.cpp", "late.cpp"]
        if SHARED in command:
            command = [word for word in command if word != SHARED]
            library = [cls.build_library(command, "libshapes.so", of_library), f"-Wl,-rpath,{cls.folder.name}"]
        else:
            library = [Path(SOURCES, each) for each in of_library]
        program_source = Path(SOURCES, "drawing_program.cpp")
        with_library = [program_source, *library, LIBRARY, "-pthread", "-ldl", "-rdynamic"]
        subprocess.run([*command, "-std=c++20", "-I", INCLUDE, *with_library, "-o", program], check=True)
        return program

    @classmethod
    def build_library(cls, command, name, sources):
        library = Path(cls.folder.name, name)
        sources = [Path(SOURCES, each) for each in sources]
        subprocess.run(
            [*command, "-std=c++20", "-shared", "-fPIC", "-I", INCLUDE, *sources, "-o", library], check=True
        )
        return library

    def build_release(self, number, *definitions):
        name = f"release {number}{''.join(definitions)}"
        program = Path(self.folder.name, name.replace(" ", "_"))
        source = Path(SOURCES, "released_program.cpp")
        command = [GCC, "-std=c++20", "-O0", f"-DRELEASE={number}", *definitions, "-I", INCLUDE, source]
        subprocess.run([*command, LIBRARY, "-pthread", "-ldl", "-o", program], check=True)
        self.programs[name] = program
        return name

    def run_program(self, name, *arguments):
        done = subprocess.run([self.programs[name], *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def expect_success(self, name, *arguments):
        self.assertEqual(self.run_program(name, *arguments), (0, ""))

    def test_each_build_uses_the_objects_of_each_other(self):
        for writer in BUILDS:
            heap = Path(self.folder.name, writer.replace(" ", "_") + ".heap")
            self.expect_success(writer, "write", heap)
            for reader in BUILDS:
                with self.subTest(writer=writer, reader=reader):
                    self.expect_success(reader, "read", heap)
            for reader in LACKING:
                with self.subTest(writer=writer, reader=reader):
                    self.expect_success(reader, "lacks", heap)

    def test_a_class_that_is_loaded_later_is_used_from_then_on(self):
        heap = Path(self.folder.name, "late.heap")
        self.expect_success("clang -O2", "write", heap)
        library = self.build_library([GCC, "-O1"], "liblate.so", ["late.cpp"])
        self.expect_success("g++ without a class", "lacks", heap, library)

    def test_a_class_whose_objects_have_another_size_is_refused(self):
        heap = Path(self.folder.name, "larger.heap")
        self.expect_success("clang -O2", "write", heap)
        status, said = self.run_program("larger", "read", heap)
        self.assertEqual(status, 1)
        self.assertRegex(said, "shapes::late .* have 24 bytes, and those of this program 32")

    def test_objects_of_a_class_that_has_changed_are_migrated(self):
        first, second, third = (self.build_release(number) for number in (1, 2, 3))
        lacking = self.build_release(2, "-DWITHOUT_LINE")

        def write(name, mode="write"):
            heap = Path(self.folder.name, name)
            self.expect_success(first, mode, heap)
            self.expect_success(first, "read", heap)
            return heap

        def expect_refusal(program, heap, said):
            status, message = self.run_program(program, "read", heap)
            self.assertEqual(status, 2, message)
            self.assertRegex(message, said)
            self.assertIn("Nothing was changed", message)

        with self.subTest("release after release, and not back"):
            heap = write("released.heap")
            self.expect_success(second, "read", heap)
            expect_refusal(first, heap, "released::circle.radius was long, is int")
            self.expect_success(third, "read", heap)
            expect_refusal(second, heap, "released::disc, which this program does not have")
            self.expect_success(third, "read", heap)
        with self.subTest("two releases at once"):
            self.expect_success(third, "read", write("released_2.heap"))
        with self.subTest("not back to a version from before"):
            self.expect_success(second, "back", write("released_3.heap"))
        with self.subTest("a root that is not named"):
            heap = write("released_4.heap", "write-other")
            expect_refusal(second, heap, 'the root "other" leads to objects of the class released::dot')
            self.expect_success(first, "read", heap)
        with self.subTest("a class that a program lacks"):
            heap = write("released_5.heap")
            self.expect_success(first, "add-line", heap)
            expect_refusal(lacking, heap, "released::line, which this program does not have")
            self.expect_success(first, "read", heap)
            self.expect_success(second, "read", heap)

    def test_a_class_whose_name_is_ambiguous_is_refused(self):
        for name in BUILDS:
            if "shared" not in name:
                with self.subTest(program=name):
                    self.expect_success(name, "unnamed", Path(self.folder.name, name.replace(" ", "_") + ".unnamed"))

    def test_a_compiler_that_compares_addresses_of_vtables_is_refused(self):
        heap = Path(self.folder.name, "assuming.heap")
        self.expect_success("clang -O2", "write", heap)
        status, said = self.run_program("assuming", "read", heap)
        self.assertEqual(status, 1)
        self.assertIn(UNIQUE, said)

    def test_a_program_at_low_addresses_is_refused(self):
        heap = Path(self.folder.name, "fixed.heap")
        status, said = self.run_program("fixed", "write", heap)
        self.assertEqual(status, 1)
        self.assertIn("-static-pie", said)

    def test_a_compiler_that_assumes_to_know_all_classes_is_refused(self):
        heap = Path(self.folder.name, "whole.heap")
        self.expect_success("clang -O2", "write", heap)
        status, said = self.run_program("whole", "read", heap)
        self.assertEqual(status, 1)
        self.assertIn("-fwhole-program-vtables", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
