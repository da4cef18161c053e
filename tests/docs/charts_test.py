"""The charts in docs/charts/ and the tables of docs/benchmarks.md are what scripts/charts draws of the results in bench/results/."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Charts(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.drawn = pathlib.Path(directory.name)
        subprocess.run([ROOT / "scripts" / "charts", self.drawn], check=True)

    def test_are_drawn_from_the_results(self):
        drawn = {chart.name: chart.read_text() for chart in (self.drawn / "charts").iterdir()}
        kept = {chart.name: chart.read_text() for chart in (ROOT / "docs" / "charts").iterdir()}
        self.assertEqual(drawn, kept, "run scripts/charts")

    def test_tables_of_the_page_are_drawn_from_the_results(self):
        self.assertEqual((self.drawn / "benchmarks.md").read_text(), (ROOT / "docs" / "benchmarks.md").read_text(), "run scripts/charts")


if __name__ == "__main__":
    repeating.main()
