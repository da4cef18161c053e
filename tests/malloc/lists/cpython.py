"""Modules of CPython's tests, with the interpreter of the system, whose objects come from malloc, too."""

import subprocess

import tools

PYTHON = "/usr/bin/python3"


class Suite:
    long_tests = ("*",)

    def __init__(self, _sources, _folder, _cc, _cxx):
        pass

    def known(self, _listed):
        return subprocess.run([PYTHON, "-m", "test", "--list-tests"], capture_output=True, text=True, check=True).stdout.split()

    def prepare(self, _wanted):
        return {}

    def run(self, names, environment):
        """A module that is skipped has not passed."""
        found = {}
        for name in names:
            done = tools.run([PYTHON, "-m", "test", name], environment | {"PYTHONMALLOC": "malloc", "LC_ALL": "C.UTF-8"})
            found[name] = tools.Outcome(done.passed and "1 test OK." in done.output, done.output)
        return found
