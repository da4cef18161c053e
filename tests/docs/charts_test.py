"""The charts in docs/charts/ are what scripts/charts draws of the results in bench/results/."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Charts(unittest.TestCase):
    def test_are_drawn_from_the_results(self):
        with tempfile.TemporaryDirectory() as name:
            subprocess.run([ROOT / "scripts" / "charts", name], check=True)
            drawn = {chart.name: chart.read_text() for chart in pathlib.Path(name).iterdir()}
        kept = {chart.name: chart.read_text() for chart in (ROOT / "docs" / "charts").iterdir()}
        self.assertEqual(drawn, kept, "run scripts/charts")


if __name__ == "__main__":
    unittest.main()
