"""The charts in docs/charts/ are what scripts/charts draws of the results in bench/results/."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Charts(unittest.TestCase):
    def test_are_drawn_from_the_results(self):
        with tempfile.TemporaryDirectory() as name:
            subprocess.run([ROOT / "scripts" / "charts", name], check=True)
            drawn = {chart.name: chart.read_text() for chart in pathlib.Path(name).iterdir()}
        kept = {chart.name: chart.read_text() for chart in (ROOT / "docs" / "charts").iterdir()}
        self.assertEqual(drawn, kept, "run scripts/charts")


if __name__ == "__main__":
    repeating.main()
