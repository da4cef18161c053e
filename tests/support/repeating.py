"""What tests in Python share: the seed of a run, and the command that repeats a test which failed.

A test program calls main() in place of unittest.main(). Random tests take their numbers from SEED.
"""

import os
import random
import shlex
import sys
import unittest

WORDS = list(sys.argv)  # before the program takes its own out
SEED = int(os.environ.get("REMANENCE_SEED", random.SystemRandom().randrange(2**32)))
ENVIRONMENT = {name: value for name, value in os.environ.items() if name.startswith(("REMANENCE_", "SOFTPM_"))} | {"REMANENCE_SEED": str(SEED)}


def command(test, words):
    """Returns the shell command that runs one test, or all tests of a class. The program's first words are its own."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(ENVIRONMENT.items())]
    program = [sys.executable, "-B", os.path.abspath(WORDS[0]), *WORDS[1:1 + words]]
    return " ".join(variables + [shlex.quote(word) for word in program + ([test] if test else [])])


def randoms(test):
    """Returns random numbers for a test, which are the same when it runs alone."""
    return random.Random(f"{SEED} {name_of(test)}")


def name_of(test):
    """Returns the name of a test as unittest takes it; of a class that could not be set up, that of the class."""
    if hasattr(test, "test_case"):  # a part of a test
        test = test.test_case
    name = test.id() if isinstance(test, unittest.TestCase) else test.id().partition("(")[2].rstrip(")")
    return name.removeprefix("__main__.")


def result_class(words, takes_names):
    class Result(unittest.TextTestResult):
        def printErrors(self):
            super().printErrors()
            failed = [test for test, _ in self.failures + self.errors] + self.unexpectedSuccesses
            for name in dict.fromkeys(name_of(test) if takes_names else "" for test in failed):
                self.stream.writeln("To repeat it: " + command(name, words))

    return Result


def main(words=0, takes_names=True, **options):
    """Runs the tests as unittest.main() does. `words`: how many of the program's arguments are its own; names of tests may follow unless
    they are all its own."""
    runner = unittest.TextTestRunner(resultclass=result_class(words, takes_names), verbosity=options.pop("verbosity", 1))
    arguments = WORDS[:1] + (WORDS[1 + words:] if takes_names else [])
    return unittest.main(argv=arguments, testRunner=runner, **options)
