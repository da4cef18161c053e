"""The command that repeating.py prints for a test that fails repeats it."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import repeating

PROGRAM = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import random, unittest
import repeating

class Some(unittest.TestCase):
    def test_passes(self):
        pass
    def test_fails(self):
        self.fail(f"drew {{random.Random(repeating.SEED).random()}} with {{sys.argv[1]}}")
    def test_fails_in_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                self.fail(f"drew {{random.Random(repeating.SEED).random()}} with {{sys.argv[1]}}")

class Another(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no class")
    def test_never_runs(self):
        pass

repeating.main(words=1)
"""


class Repeating(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "program's.py"
        self.program.write_text(PROGRAM, encoding="utf-8")

    def said(self, *words, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "REMANENCE_SEED"} | variables
        done = subprocess.run([sys.executable, "-B", self.program, "an argument", *words], capture_output=True, text=True,
                              env=environment, check=False)
        return done.stdout + done.stderr

    def repeated(self, text):
        """Runs the only command in a text."""
        commands = re.findall(r"^To repeat it: (.*)$", text, re.M)
        self.assertEqual(len(commands), 1, text)
        done = subprocess.run(commands[0], shell=True, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def drawn(self, text):
        drawn = set(re.findall(r"AssertionError: (drew .*)", text))
        self.assertEqual(len(drawn), 1, text)
        return drawn.pop()

    def test_a_failure_is_repeated_with_its_seed(self):
        for test in ("Some.test_fails", "Some.test_fails_in_parts"):
            first = self.said(test)
            again = self.repeated(first)
            self.assertEqual(self.drawn(again), self.drawn(first))
            self.assertIn("Ran 1 test ", again)

    def test_only_tests_that_failed_have_commands(self):
        text = self.said()
        self.assertEqual(len(re.findall(r"^To repeat it: .* Some.test_fails$", text, re.M)), 1, text)
        self.assertEqual(len(re.findall(r"^To repeat it: .* Some.test_fails_in_parts$", text, re.M)), 1, text)
        self.assertEqual(len(re.findall(r"^To repeat it: .* Another$", text, re.M)), 1, text)
        self.assertEqual(text.count("To repeat it: "), 3, text)

    def test_a_class_that_cannot_be_set_up_is_repeated(self):
        self.assertIn("OSError: no class", self.repeated(self.said("Another")))

    def test_a_seed_that_is_given_is_kept(self):
        first = self.said("Some.test_fails", REMANENCE_SEED="5", REMANENCE_OTHER="it's")
        self.assertIn("""To repeat it: REMANENCE_OTHER='it'"'"'s' REMANENCE_SEED=5 """, first)
        self.assertEqual(self.drawn(first), self.drawn(self.said("Some.test_fails", REMANENCE_SEED="5")))
        self.assertNotEqual(self.drawn(first), self.drawn(self.said("Some.test_fails")))


if __name__ == "__main__":
    repeating.main()
