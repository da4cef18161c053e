"""Compiles a program with two compilers, runs both, and compares what they print of each type's stored schema."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import repeating  # noqa: E402

SOURCE, LIBRARY, INCLUDE, *COMPILERS = sys.argv[1:]


def printed_by(compiler: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "schemas")
        subprocess.run([compiler, "-std=c++20", "-I", INCLUDE, SOURCE, LIBRARY, "-pthread", "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    return dict(line.split("\t", 1) for line in lines)


class SameSchemas(unittest.TestCase):
    def test_both_compilers_write_the_same_bytes(self):
        one, other = (printed_by(compiler) for compiler in COMPILERS)
        self.assertGreater(len(one), 25)
        self.assertEqual(one.keys(), other.keys())
        for name, schema in one.items():
            with self.subTest(type=name):
                self.assertEqual(schema, other[name])


if __name__ == "__main__":
    repeating.main(takes_names=False, verbosity=2)
