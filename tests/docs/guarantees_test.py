"""docs/guarantees.md: each promise names tests that are there, and the commands that run them.

A row is "| promise | `file::test` | `command` |", where `check` is for `make check`. The first command is the quickest that runs the test; `soak` is
there if that runs it, too.
"""

import fnmatch
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import pages  # noqa: E402
import repeating  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (.+) \| `(tests/\S+)::(\S+)` \| (`.+`) \|$", re.MULTILINE)
COMMAND = re.compile(r"`(?:make )?([a-z]+)((?: [A-Z]+=[^\s`]+)*)`")
GTEST = re.compile(r"^(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)", re.MULTILINE)
POWER_LOSS = "engine_after_power_loss.keeps_every_acknowledged_commit_and_works_on"  # what runs the workloads


def page():
    return (ROOT / "docs/guarantees.md").read_text()


def names_in(file):
    """What may be said to be in a file: its tests and their suites, the workloads that it lists, or the input that it is tried on."""
    text = (ROOT / file).read_text()
    if file.endswith("_workloads.cpp"):
        return set(re.findall(r'"(\w+)"', text))
    if file.endswith("_fuzz.cpp"):
        return {"fuzz." + pathlib.Path(file).name.removesuffix("_fuzz.cpp")}
    if file.endswith(".py"):
        names = set()
        for each in re.split(r"^(?=class )", text, flags=re.MULTILINE)[1:]:
            name = re.match(r"class (\w+)", each)[1]
            names |= {name} | {f"{name}.{test}" for test in re.findall(r"^    def (test_\w+)", each, re.MULTILINE)}
        return names
    if file.endswith("CMakeLists.txt"):
        return set(re.findall(r"\bNAME ([\w.]+)", text))
    return {name for _, suite, test in GTEST.findall(text) for name in (suite, f"{suite}.{test}")}


def program_of(file):
    """The test program that a C++ file is part of, as tests/CMakeLists.txt and remanence_add_tests() name it."""
    if re.fullmatch(r"tests/faults/\w+_no_sanitizer_test\.cpp", file):
        return "faults_system_calls_no_sanitizer"
    ending = re.search(r"_(threads|no_sanitizer)_test\.cpp$", file)
    return "_".join(file.split("/")[1:-1]) + (f"_{ending[1]}" if ending else "")


def full_names(file, name):
    """Names that GoogleTest knows, of a test, or of all tests of a suite. Those with parameters have some here."""
    if file.endswith("_workloads.cpp"):
        return [f"workloads/{POWER_LOSS}/{name}"]
    tests = [(kind, f"{suite}.{test}") for kind, suite, test in GTEST.findall((ROOT / file).read_text()) if name in (suite, f"{suite}.{test}")]
    return [f"some/{test}/some" if kind in ("TEST_P", "TYPED_TEST_P") else test for kind, test in tests]


@functools.cache
def run_by_make_check():
    """Patterns of names for ctest: those that `make check` runs, and those that it leaves out."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    said = subprocess.run(["make", "-n", "-C", ROOT, "--no-print-directory", "check"], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    words = shlex.split(said[said.index("ctest "):])
    return words[words.index("-R") + 1], words[words.index("-E") + 1]


def is_run_by_make_check(file, name):
    runs, leaves_out = run_by_make_check()
    names = [f"{program_of(file)}.{test}" for test in full_names(file, name)]
    return bool(names) and all(re.search(runs, each) and not re.search(leaves_out, each) for each in names)


def is_run_by_make_soak(file, name):
    script = (ROOT / "scripts/soak").read_text()
    if file.endswith("_fuzz.cpp"):
        return "tests/fuzz/run" in script
    if file.endswith(".py"):
        return file in script
    programs = re.findall(r'\[PROGRAMS / "(\w+)"(?:, f?"--gtest_filter=([^"]+)")?\]', script)
    programs += [(program, "") for program in re.findall(r'self\.fault_sweeps, "[^"]+", "(\w+)"', script)]
    patterns = [re.sub(r"\{\w+\}", "*", pattern or "*") for program, pattern in programs if program == program_of(file)]
    return any(fnmatch.fnmatchcase(test, pattern) for test in full_names(file, name) for pattern in patterns)


def quickest_command(file, name):
    folder = file.split("/")[1]
    if file.endswith(".py") and f"test_{folder}\n" in (ROOT / f"tests/{folder}/CMakeLists.txt").read_text():
        return f"test NAME={folder}"
    return "check" if file.endswith(".cpp") and is_run_by_make_check(file, name) else "test"


class Guarantees(unittest.TestCase):
    def setUp(self):
        self.rows = ROW.findall(page())
        self.assertGreater(len(self.rows), 50)
        self.assertEqual(len(self.rows), len(re.findall(r"^\|.*::", page(), re.MULTILINE)), "a row that is not as the others")

    def test_name_files_and_tests_that_are_there(self):
        for promise, file, name, _ in self.rows:
            with self.subTest(promise=promise):
                self.assertTrue((ROOT / file).is_file(), file)
                self.assertIn(name, names_in(file), file)

    def test_name_the_commands_that_run_them(self):
        for promise, file, name, cell in self.rows:
            with self.subTest(promise=promise):
                self.assertEqual(COMMAND.sub("", cell).strip(", "), "", "no list of commands")
                expected = [quickest_command(file, name)] + (["soak"] if is_run_by_make_soak(file, name) else [])
                self.assertEqual([target + words for target, words in COMMAND.findall(cell)], expected)

    def test_every_command_is_one_of_make(self):
        for target, words in [each for *_, cell in self.rows for each in COMMAND.findall(cell)]:
            with self.subTest(target=target, words=words):
                self.assertIsNone(pages.problem_of_make(target + words))


if __name__ == "__main__":
    repeating.main()
