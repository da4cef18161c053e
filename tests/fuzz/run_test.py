"""tests/fuzz/run says what each target tried and found, and how a failure is repeated. The targets here are shell scripts."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import repeating  # noqa: E402

TARGETS = "superblock chunk_map log allocator inspection description schema dump containers own_containers guests".split()
FINDS_SOMETHING = """
for corpus; do :; done
echo found > "$corpus/$$"
echo "stat::number_of_executed_units: 100"
"""
FAILS = """
echo "==1==ERROR: AddressSanitizer"
echo "Test unit written to /somewhere/log-crash-1"
exit 77
"""
TIMES_OUT = "exit 70\n"
SAYS_ITS_SEED = """
for word; do case $word in -seed=*|-runs=*) echo "$word"; esac; done
echo "stat::number_of_executed_units: 7"
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "bin/fuzz").mkdir(parents=True)
        for target in TARGETS:
            self.write(target, FINDS_SOMETHING)

    def write(self, target, text):
        program = self.build / f"bin/fuzz/fuzz_{target}"
        program.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        program.chmod(0o700)

    def run_it(self, *words, targets=(), **variables):
        environment = {name: value for name, value in os.environ.items() if name != "REMANENCE_SEED"} | variables
        return subprocess.run([sys.executable, "-B", HERE / "run", *words, self.build, *targets], capture_output=True, text=True, env=environment, check=False)

    def test_tells_what_each_target_found_and_what_that_took(self):
        done = self.run_it("11")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        jobs = os.cpu_count()
        for target in TARGETS:
            self.assertRegex(done.stdout, rf"(?m)^{target} +{100 * jobs} +{jobs} +{jobs} +[\d.]+ +\d+ +[\d.]+$")
        self.assertIn(f"all targets: {100 * jobs * len(TARGETS)} inputs, none failed", done.stdout)

    def test_runs_only_the_targets_that_are_named(self):
        done = self.run_it("2", targets=("log", "dump"))
        self.assertIn(f"all targets: {200 * os.cpu_count()} inputs, none failed", done.stdout)
        self.assertIn("usage:", self.run_it("2", targets=("lag",)).stderr)

    def test_a_failure_is_told_with_the_command_that_repeats_it(self):
        self.write("log", FAILS)
        done = self.run_it("11")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ERROR: AddressSanitizer", done.stdout)
        self.assertIn(f"To repeat it: {self.build}/bin/fuzz/fuzz_log /somewhere/log-crash-1\n", done.stdout)
        self.assertNotIn("none failed", done.stdout)

    def test_a_short_run_is_the_same_each_time_unless_a_seed_is_given(self):
        self.write("log", SAYS_ITS_SEED)
        for variables, seed in (({}, 1), ({"REMANENCE_SEED": "5"}, 5), ({"REMANENCE_SEED": str(2**32)}, 1)):
            done = self.run_it("--short", "log", "40", **variables)
            self.assertEqual(done.stdout, "fuzz_log: 7 inputs, none failed\n")
            self.assertEqual(re.findall("-.*", (self.build / "fuzz/log.short.log").read_text()), ["-runs=40", f"-seed={seed}"])

    def test_a_failure_that_leaves_no_input_is_repeated_as_a_whole(self):
        self.write("log", TIMES_OUT)
        done = self.run_it("--short", "log", "40", REMANENCE_SEED="5")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rf"To repeat it: {self.build}/bin/fuzz/fuzz_log .*-runs=40 -seed=5")


if __name__ == "__main__":
    repeating.main()
